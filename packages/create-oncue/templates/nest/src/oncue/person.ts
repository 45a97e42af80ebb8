import { timingSafeEqual } from 'node:crypto'
import type { Person } from 'oncue/app'

/**
 * Who may see the jobs and change them. Ask your own sign-in here: a session, a JWT, a header of your proxy. This one knows
 * a developer on this machine and, in production, the admin with ADMIN_PASSWORD.
 */
export function personOf({ headers }: Request): Person | null {
  const isLocal = /^localhost(:\d+)?$/.test(headers.get('host') ?? '')
  if (process.env.NODE_ENV === 'development' && isLocal) return { id: 'developer', role: 'admin' }
  const password = process.env.ADMIN_PASSWORD
  if (!password) return null
  const expected = Buffer.from(`Basic ${Buffer.from(`admin:${password}`).toString('base64')}`)
  const given = Buffer.from(headers.get('authorization') ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
    ? { id: 'admin', role: 'admin' }
    : null
}
