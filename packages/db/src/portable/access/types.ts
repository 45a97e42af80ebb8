import type { AuditEntry, AuditPage, AuditRequest, DeviceRole, Pairing, Token } from '@oncue/core/wire'

export type TokenRow = Token
export type TokenKind = Token['kind']

/**
 * Who may call the API. A token can be used until it expires, is revoked, is a device that was not used for long,
 * or what it was made by can no longer be used: a session of a device of a device of a token ends with each of them.
 */
export interface TokenStore {
  /** The admin that an installation begins with. False: it was made before, by whichever process was first. */
  createFirstAdmin(hash: string): Promise<boolean>
  /** Makes this the hash of an admin, whatever was before; the secret it replaces ends with all that was made by it. */
  setAdmin(hash: string): Promise<void>
  /** The token of this hash, if it can be used. */
  find(hash: string): Promise<(TokenRow & { readonly hash: string }) | null>
  /** Which of these can still be used. */
  usable(ids: readonly string[]): Promise<Set<string>>
  /**
   * With all sessions and devices made by it, and by those. Returns how many devices could be used until then.
   * TOKEN_NOT_FOUND for an id that nobody has; a second time changes nothing.
   */
  revoke(id: string): Promise<{ readonly devices: number }>
  /** It is in use: written at most once a minute. A device, also by a session of it, can be idle from now on for `idleMs`. */
  touch(id: string, idleMs?: number): Promise<void>
}

export type NewPairing = {
  /** Of the device to come. */
  readonly role: DeviceRole
  readonly allowedTopics?: Token['allowedTopics'] | undefined
  readonly allowedQueues?: Token['allowedQueues'] | undefined
  /** The token that makes it, if one does: while it cannot be used, nor can the code or the device. */
  readonly makerId?: string | null | undefined
  /** The end of a maker that is no token: the code and the device end then too. */
  readonly deviceUntil?: Date | null | undefined
  readonly createdBy: string
  readonly validMs: number
}

type NewPairingCode = Pick<Pairing, 'id' | 'code' | 'expiresAt'>

/** Codes that are typed in or scanned, and exchanged once for the token of a device. */
export interface PairingStore {
  /** The code can be read this once: only its hash is stored. */
  create(pairing: NewPairing): Promise<NewPairingCode>
  /**
   * The new device, whose secret has this hash. PAIRING_REFUSED if the code is wrong, too old or used, or if its
   * maker can no longer be; of two that come at once with the same code, one gets it. How a code is written
   * (capitals, hyphens, spaces) does not matter.
   */
  exchange(device: {
    readonly code: string
    readonly name: string
    readonly hash: string
    /** For how long the device may be idle before it ends; absent: for ever. */
    readonly idleMs?: number | undefined
  }): Promise<TokenRow>
  /** The device that it became; null as long as nobody came. */
  deviceOf(id: string): Promise<TokenRow | null>
}

export type { AuditEntry, AuditPage }
export type AuditFilter = Omit<AuditRequest, 'limit' | 'cursor'>

export type NewAuditEntry = Pick<AuditEntry, 'actor' | 'action'> & {
  readonly [Field in 'target' | 'count' | 'ip' | 'userAgent' | 'requestId']?: AuditEntry[Field] | undefined
}

/** Who did what. Rows are appended; Control lists and prunes them, and nothing changes them. */
export interface AuditStore {
  /** In the order given. Texts are cut and cleaned rather than refused, so that no change goes unrecorded. */
  record(entries: readonly NewAuditEntry[]): Promise<void>
}
