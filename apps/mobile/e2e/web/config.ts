import { join } from 'node:path'

/** The folder of the web build. */
export const APP = process.env.ONCUE_APP_DIR || join(import.meta.dirname, '../../dist')
