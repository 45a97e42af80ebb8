import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** The prefix lets people and secret scanners recognise it. */
const PREFIX = 'oncue_'

export function newSecret(): string {
  return PREFIX + randomBytes(32).toString('base64url')
}

/**
 * Plain SHA-256: slow hashes protect passwords that people choose; these are 256 random bits.
 */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
