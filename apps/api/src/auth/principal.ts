import type { AccessClass, Me } from '@oncue/core/wire'
import type { AssertStill } from './validity.ts'

/** Who sends a request. */
export interface Principal extends Omit<Me, 'may'> {
  /** The row that proves it; null without one. */
  readonly tokenId: string | null
}

export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  id: '',
  name: 'anonymous',
  role: null,
  allowedTopics: null,
  allowedQueues: null,
  tokenId: null,
  expiresAt: null,
}

/** What of a request says who sends it. */
type Credentials = {
  /** The headers as they came. */
  readonly authorization?: string | undefined
  readonly cookie?: string | undefined
  /** It came over https: then only the cookie that is bound to this host counts. */
  readonly isSecure?: boolean | undefined
}

export interface Auth {
  /** Answers the anonymous principal for a request that shows nothing, and UNAUTHORIZED for one that shows something bad. */
  identify(credentials: Credentials): Promise<Principal>
  /** UNAUTHORIZED for those who might after signing in, FORBIDDEN for those who may not, HTTP_DISABLED while it is switched off. */
  authorize(principal: Principal, access: AccessClass): Promise<void>
  /** TOPIC_NOT_ALLOWED unless both the settings and the token allow it. */
  assertTopic(principal: Principal, topic: string): Promise<void>
  /** Says QUEUE_NOT_ALLOWED of a queue unless both the settings and the token allow it. */
  queueChecker(principal: Principal): Promise<(queue: string) => void>
  /** Whether both allow every queue. */
  allowsEveryQueue(principal: Principal): Promise<boolean>
  /** TOPIC_NOT_ALLOWED unless both allow every topic: a key that all topics share tells of jobs of any of them. */
  assertAllTopics(principal: Principal): Promise<void>
  /**
   * Aborts when the principal may no longer do this: its token was revoked or has expired, or a setting was
   * changed. One check a second for all of them together. The reason of the signal is the error to say.
   */
  whileValid(
    principal: Principal,
    access?: AccessClass,
    assertStill?: AssertStill,
  ): { readonly signal: AbortSignal; release(): void }
  /** A token or a setting was changed by this process: look at once, and not within a second. */
  changed(): Promise<void>
  /** Makes sure that there is an admin token. Answers it if it was made now: the only time it can be read. */
  bootstrap(): Promise<{ readonly adminToken: string | null }>
  close(): void
}
