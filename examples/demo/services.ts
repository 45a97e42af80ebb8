import type { Pace } from './pace.ts'

/** Stand for the services that a shop calls: they take some time, and two of them have problems. */

const MINUTE_MS = 60_000

class GatewayTimeoutError extends Error {
  override readonly name = 'GatewayTimeoutError'
}

class WebhookRejectedError extends Error {
  override readonly name = 'WebhookRejectedError'
}

const between = (from: number, to: number) => from + Math.random() * (to - from)
const id = (prefix: string) => `${prefix}_${Math.random().toString(36).slice(2, 12)}`

export class Services {
  readonly #pace: Pace
  /** Since when one of the receivers of webhooks responds with errors. */
  readonly #downSince: Date

  constructor(pace: Pace, downSince: Date) {
    this.#pace = pace
    this.#downSince = downSince
  }

  /** Takes about this long. */
  work(ms: number, signal: AbortSignal): Promise<void> {
    return this.#pace.sleep(between(ms / 2, ms * 1.5), signal)
  }

  async sendMail(signal: AbortSignal): Promise<string> {
    await this.work(300, signal)
    return id('msg')
  }

  /** About one call in seven times out behind the gateway. A second attempt does not. */
  async capture(isFirstTry: boolean, signal: AbortSignal): Promise<string> {
    await this.work(450, signal)
    if (isFirstTry && Math.random() < 0.15) {
      throw new GatewayTimeoutError('the payment gateway answered 504')
    }
    return id('cap')
  }

  async post(endpoint: string, signal: AbortSignal): Promise<void> {
    await this.work(350, signal)
    if (this.#isDown(endpoint)) throw new WebhookRejectedError(`POST ${endpoint} answered 503`)
  }

  /** Rows of some accounts have no tax, a case that the export does not handle. */
  readLedger(account: string): { net: number; tax?: { rate: number } }[] {
    const taxed = { net: 40, tax: { rate: 0.19 } }
    return account === 'ACC-1017' ? [taxed, { net: 12 }] : [taxed, taxed]
  }

  /** For forty minutes of every hour, starting when the trouble began. */
  #isDown(endpoint: string): boolean {
    const since = this.#pace.now().getTime() - this.#downSince.getTime()
    return endpoint.includes('northwind') && since > 0 && since % (60 * MINUTE_MS) < 40 * MINUTE_MS
  }
}
