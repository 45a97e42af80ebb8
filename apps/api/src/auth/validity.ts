import { isOncueError, OncueError } from '@oncue/core'
import type { AccessClass } from '@oncue/core/wire'
import type { TokenStore } from '@oncue/db'
import { Loop, type Runtime, systemRuntime } from '@oncue/runtime'
import type { Principal } from './principal.ts'

const CHECK_MS = 1_000

/** Throws when the caller may no longer watch what it watches, though its role still allows it to watch. */
export type AssertStill = () => Promise<void>

type Watched = {
  readonly principal: Principal
  readonly access: AccessClass
  readonly assertStill: AssertStill | undefined
  readonly controller: AbortController
}

/** Ends the streams of callers who lose their access: one query a second for all open streams, none without them. */
export class Validity {
  readonly #tokens: () => TokenStore
  readonly #authorize: (principal: Principal, access: AccessClass) => Promise<void>
  readonly #runtime: Runtime
  readonly #watched = new Set<Watched>()
  readonly #loop: Loop

  constructor(
    tokens: () => TokenStore,
    authorize: (principal: Principal, access: AccessClass) => Promise<void>,
    runtime: Runtime = systemRuntime,
  ) {
    this.#tokens = tokens
    this.#authorize = authorize
    this.#runtime = runtime
    this.#loop = new Loop({
      what: 'checking the tokens of open streams',
      firstMs: CHECK_MS,
      runtime,
      work: async () => {
        await this.check()
        return CHECK_MS
      },
    })
  }

  watch(
    principal: Principal,
    access: AccessClass,
    assertStill?: AssertStill,
  ): { signal: AbortSignal; release(): void } {
    const watched: Watched = { principal, access, assertStill, controller: new AbortController() }
    this.#watched.add(watched)
    this.#loop.start()
    return {
      signal: watched.controller.signal,
      release: () => {
        this.#watched.delete(watched)
        if (this.#watched.size === 0) void this.stop()
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
      // Streams notice an unreachable database themselves; it is no reason to end them here.
    }
  }

  async #checkOne(
    { principal, access, assertStill, controller }: Watched,
    usable: Set<string>,
  ): Promise<void> {
    const { tokenId, expiresAt } = principal
    const isExpired = expiresAt !== null && expiresAt.getTime() <= this.#runtime.now()
    if (isExpired || (tokenId !== null && !usable.has(tokenId))) return controller.abort(revoked())
    try {
      await this.#authorize(principal, access)
    } catch (error) {
      if (isOncueError(error) && REFUSALS.has(error.code)) return controller.abort(revoked())
    }
    await assertStill?.().catch((error: unknown) => {
      if (isOncueError(error) && !error.retryable) controller.abort(error)
    })
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }
}

const revoked = () => new OncueError('UNAUTHORIZED', 'The token was revoked or has expired')
const REFUSALS: ReadonlySet<string> = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'HTTP_DISABLED'])
