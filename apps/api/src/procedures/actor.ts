import { LIMITS } from '@oncue/core'
import type { Principal } from '../auth/principal.ts'
import type { ApiContext } from '../context.ts'

/** The name under which jobs, queues and schedules record who acted on them. */
export function actorOf({ principal }: ApiContext): string {
  return shownName(principal)
}

/** Devices and JWTs choose their names, and may choose the name of a token: so their kind is part of it. */
export function shownName({ kind, name, id }: Principal): string {
  const suffix = SUFFIXES[kind] ?? ''
  return `${(name || id).slice(0, LIMITS.keyLength - suffix.length)}${suffix}`
}

const SUFFIXES: Readonly<Partial<Record<Principal['kind'], string>>> = { device: ' (device)', jwt: ' (JWT)' }
