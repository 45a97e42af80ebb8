import { LIMITS, OncueError } from '@oncue/core'
import { cleanText } from '@oncue/core/internal'
import { ROLES, type Role } from '@oncue/core/wire'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Principal } from './principal.ts'

export type JwtOptions = {
  readonly jwksUrl: string
  /** Required: one key set often signs for many services, whose tokens must not be accepted here. */
  readonly issuer: string
  readonly audience: string
  /** A claim, or a path to a nested one: `realm_access.roles`. */
  readonly roleClaim: string
  readonly topicsClaim: string
  readonly queuesClaim: string
}

/** Public-key algorithms only: a shared secret in the key set would let its readers sign tokens. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

const CLOCK_TOLERANCE_S = 5
const FETCH_MS = 5_000

export type JwtVerifier = (token: string) => Promise<Principal>

/** Three parts, of which the first is a JSON object in base64. An admin token may contain dots, too. */
export function looksLikeJwt(token: string): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(token)
}

export function createJwtVerifier(
  options: JwtOptions,
  { now }: Pick<Runtime, 'now'> = systemRuntime,
): JwtVerifier {
  const { jwksUrl, issuer, audience } = options
  const keys = createRemoteJWKSet(new URL(jwksUrl), { timeoutDuration: FETCH_MS })
  return async (token) => {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(now()),
      requiredClaims: ['sub', 'exp'],
    }).catch((error: unknown) => {
      throw toJwtError(error, jwksUrl)
    })
    return toPrincipal(payload, options)
  }
}

function toPrincipal(payload: JWTPayload, { roleClaim, topicsClaim, queuesClaim }: JwtOptions): Principal {
  const { sub, exp = 0 } = payload
  // jose checks only that it is present.
  if (typeof sub !== 'string' || sub === '')
    throw new OncueError('UNAUTHORIZED', 'The claim "sub" must be a non-empty string')
  const named = [payload.name, payload.email, payload.preferred_username].find(
    (text) => typeof text === 'string',
  )
  return {
    kind: 'jwt',
    id: sub,
    name: cleanText(((named as string | undefined) || sub).slice(0, LIMITS.keyLength)),
    role: toRole(claimOf(payload, roleClaim)),
    allowedTopics: toNames(claimOf(payload, topicsClaim)),
    allowedQueues: toNames(claimOf(payload, queuesClaim)),
    tokenId: null,
    expiresAt: new Date(Math.min((exp + CLOCK_TOLERANCE_S) * 1_000, LIMITS.dateMax)),
  }
}

/** A claim's name may itself contain dots, as a URL does; if no claim has that name, it is a path. */
function claimOf(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name]
  let value: unknown = payload
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** The strongest of several roles; unknown ones are ignored. */
function toRole(claim: unknown): Role | null {
  const named: unknown[] = Array.isArray(claim) ? claim : [claim]
  return ROLES.findLast((role) => named.includes(role)) ?? null
}

/** Every name without the claim; none if the claim cannot be read. */
function toNames(claim: unknown): string[] | null {
  if (claim === undefined) return null
  if (typeof claim === 'string') return claim.split(/[\s,]+/).filter(Boolean)
  return Array.isArray(claim) ? claim.filter((name) => typeof name === 'string') : []
}

function toJwtError(error: unknown, jwksUrl: string): OncueError {
  if (error instanceof errors.JWTExpired) return new OncueError('UNAUTHORIZED', 'The JWT has expired')
  if (error instanceof errors.JWTClaimValidationFailed)
    return new OncueError('UNAUTHORIZED', `The JWT is not for this API: ${error.message}`)
  if (isUnreachable(error))
    return new OncueError('JWKS_UNAVAILABLE', `The key set at ${jwksUrl} cannot be read`, { cause: error })
  return new OncueError('UNAUTHORIZED', 'The JWT is not valid', { cause: error })
}

/** Faults of the token itself have their own error classes. */
function isUnreachable(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true
  return (
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC'
  )
}
