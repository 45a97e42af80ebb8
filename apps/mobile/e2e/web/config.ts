import { join } from 'node:path'

/** Where the web build is: ours, unless told otherwise. */
export const APP = process.env.ONCUE_APP_DIR || join(import.meta.dirname, '../../dist')
