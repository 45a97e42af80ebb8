import { isOncueError, OncueError } from '@oncue/core'
import type { AccessClass } from '@oncue/core/wire'
import type { TokenStore } from '@oncue/db'
import type { Principal } from './principal.ts'

const CHECK_MS = 1_000

/** Throws when the caller may no longer hear of what it watches, though the rules let it in. */
export type AssertStill = () => Promise<void>

type Watched = {
  readonly principal: Principal
  readonly access: AccessClass
  readonly assertStill: AssertStill | undefined
  readonly controller: AbortController
}

/** Watches over those whose streams are open: one query a second for all of them, and none without them. */
export class Validity {
  readonly #tokens: () => TokenStore
  readonly #authorize: (principal: Principal, access: AccessClass) => Promise<void>
  readonly #watched = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    tokens: () => TokenStore,
    authorize: (principal: Principal, access: AccessClass) => Promise<void>,
  ) {
    this.#tokens = tokens
    this.#authorize = authorize
  }

  watch(
    principal: Principal,
    access: AccessClass,
    assertStill?: AssertStill,
  ): { signal: AbortSignal; release(): void } {
    const watched: Watched = { principal, access, assertStill, controller: new AbortController() }
    this.#watched.add(watched)
    this.#timer ??= setInterval(() => void this.check(), CHECK_MS).unref()
    return {
      signal: watched.controller.signal,
      release: () => {
        this.#watched.delete(watched)
        if (this.#watched.size === 0) this.close()
      },
    }
  }

  async check(): Promise<void> {
    const all = [...this.#watched]
    const ids = new Set(all.flatMap(({ principal }) => principal.tokenId ?? []))
    try {
      const usable = await this.#tokens().usable([...ids])
      await Promise.all(all.map((watched) => this.#checkOne(watched, usable)))
    } catch {
      // A database that does not answer is no reason to cut anybody off; the streams notice it by themselves.
    }
  }

  async #checkOne(
    { principal, access, assertStill, controller }: Watched,
    usable: Set<string>,
  ): Promise<void> {
    const { tokenId, expiresAt } = principal
    const isOver = expiresAt !== null && expiresAt.getTime() <= Date.now()
    if (isOver || (tokenId !== null && !usable.has(tokenId))) return controller.abort(revoked())
    try {
      await this.#authorize(principal, access)
    } catch (error) {
      if (isOncueError(error) && REFUSALS.has(error.code)) return controller.abort(revoked())
    }
    await assertStill?.().catch((error: unknown) => {
      if (isOncueError(error) && !error.retryable) controller.abort(error)
    })
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const revoked = () => new OncueError('UNAUTHORIZED', 'The token was revoked or has expired')
const REFUSALS: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'HTTP_DISABLED'])
