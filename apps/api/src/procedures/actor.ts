import { LIMITS } from '@oncue/core'
import type { Principal } from '../auth/principal.ts'
import type { ApiContext } from '../context.ts'

/** As jobs, queues and schedules remember who acted on them. */
export function actorOf({ principal }: ApiContext): string {
  return shownName(principal)
}

/** A device and a JWT name themselves, and may use the name of somebody's token: their kind is part of it. */
export function shownName({ kind, name, id }: Principal): string {
  const suffix = SUFFIXES[kind] ?? ''
  return `${(name || id).slice(0, LIMITS.keyLength - suffix.length)}${suffix}`
}

const SUFFIXES: Readonly<Partial<Record<Principal['kind'], string>>> = { device: ' (device)', jwt: ' (JWT)' }
