import { type OncueApp, oncueApp } from 'oncue/app'
import { url } from './database.ts'
import { personOf } from './person.ts'

const kept = globalThis as { admin?: OncueApp }

kept.admin ??= oncueApp({ basePath: '/admin/jobs', url, authenticate: personOf })
/** Oncue's app and API, below /admin/jobs. Restart Next.js after a change. */
export const { admin } = kept
