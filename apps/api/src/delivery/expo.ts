import type { Runtime } from '@oncue/runtime'
import type { ExpoPushMessage } from 'expo-server-sdk'
import { z } from 'zod'
import { post, Unanswered } from './post.ts'

const MAX_ANSWER_BYTES = 1_000_000

export interface ExpoOptions {
  /** Expo's push service, or a compatible one. */
  readonly url: string
  readonly accessToken: string | null
  readonly runtime?: Runtime | undefined
}

const faultSchema = z.object({
  status: z.literal('error'),
  details: z.object({ error: z.string().optional() }).optional(),
})
const ticketSchema = z.union([z.object({ status: z.literal('ok'), id: z.string() }), faultSchema])
const receiptSchema = z.union([z.object({ status: z.literal('ok') }), faultSchema])
const answerSchema = z.object({
  data: z.unknown().optional(),
  errors: z
    .array(z.object({ code: z.string().optional() }))
    .nonempty()
    .optional(),
})

export type Ticket = z.output<typeof ticketSchema>
export type Receipt = z.output<typeof receiptSchema>
export type Fault = z.output<typeof faultSchema>

/** The service refused the whole request. */
export class ExpoRefusal extends Error {
  override readonly name = 'ExpoRefusal'
  readonly status: number
  readonly retryAfterMs: number | undefined

  /** `code` as in TOO_MANY_REQUESTS. */
  constructor(status: number, code: string | undefined, retryAfterMs: number | undefined) {
    super(`Expo returned ${status}${code === undefined ? '' : ` (${code})`}`)
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Expo's push service. The client of `expo-server-sdk` reads the service's address from the environment when it is imported,
 * and has no timeout; this one has neither problem.
 */
export class ExpoService {
  readonly #base: string
  readonly #runtime: Runtime | undefined
  readonly #headers: Readonly<Record<string, string>>

  constructor({ url, accessToken, runtime }: ExpoOptions) {
    this.#runtime = runtime
    this.#base = `${url}/--/api/v2/push`
    this.#headers = {
      accept: 'application/json',
      ...(accessToken !== null && { authorization: `Bearer ${accessToken}` }),
    }
  }

  /** One ticket per message, in their order. */
  async send(messages: readonly ExpoPushMessage[], signal: AbortSignal): Promise<Ticket[]> {
    const tickets = await this.#call('send', messages, z.array(ticketSchema), signal)
    if (tickets.length === messages.length) return tickets
    throw new Unanswered(`Expo returned ${tickets.length} tickets for ${messages.length} messages`)
  }

  /** By the ids of their tickets, without those that Expo does not have yet. */
  receipts(ids: readonly string[], signal: AbortSignal): Promise<Record<string, Receipt>> {
    return this.#call('getReceipts', { ids }, z.record(z.string(), receiptSchema), signal)
  }

  async #call<Data>(verb: string, input: unknown, data: z.ZodType<Data>, signal: AbortSignal): Promise<Data> {
    const { status, text, retryAfterMs } = await post({
      url: new URL(`${this.#base}/${verb}`),
      body: JSON.stringify(input),
      headers: this.#headers,
      maxBytes: MAX_ANSWER_BYTES,
      signal,
      runtime: this.#runtime,
    })
    const answer = answerSchema.safeParse(parseJson(text))
    const errors = answer.data?.errors
    if (status !== 200 || errors)
      throw new ExpoRefusal(status === 200 ? 400 : status, errors?.[0]?.code, retryAfterMs)
    const parsed = data.safeParse(answer.data?.data)
    if (parsed.success) return parsed.data
    throw new Unanswered('Expo returned an unknown response', { cause: parsed.error })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
