import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** The prefix lets people, and those who search repositories for secrets, see what it is. */
const PREFIX = 'oncue_'

export function newSecret(): string {
  return PREFIX + randomBytes(32).toString('base64url')
}

/**
 * A plain SHA-256: slow hashes protect what people choose, and these are 256 random bits that nobody guesses.
 */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

export function sameHash(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
