import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

const KEY_ID = 'k1'

/** Signs JWTs and serves its key set. */
export class IdentityProvider {
  static readonly issuer = 'https://id.example.com/'
  static readonly audience = 'oncue'
  readonly keys: Keys
  /** The HTTP status of the key set. */
  status = 200
  readonly #server: Server

  private constructor(keys: Keys, jwk: object) {
    this.keys = keys
    this.#server = createServer((_, response) => {
      response
        .writeHead(this.status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ keys: [jwk] }))
    })
  }

  static async start(): Promise<IdentityProvider> {
    const keys = await generateKeyPair('RS256', { extractable: true })
    const jwk = { ...(await exportJWK(keys.publicKey)), kid: KEY_ID, use: 'sig' }
    const provider = new IdentityProvider(keys, jwk)
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve))
    return provider
  }

  get jwksUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/jwks.json`
  }

  /** The environment of an API that accepts its JWTs. */
  get env() {
    return {
      ONCUE_JWKS_URL: this.jwksUrl,
      ONCUE_JWT_ISSUER: IdentityProvider.issuer,
      ONCUE_JWT_AUDIENCE: IdentityProvider.audience,
    }
  }

  /** Valid claims, with these changes. */
  claims(changes: Record<string, unknown> = {}): JWTPayload {
    const exp = Math.floor(Date.now() / 1_000) + 60
    return { iss: IdentityProvider.issuer, aud: IdentityProvider.audience, sub: 'u1', exp, ...changes }
  }

  sign(
    changes?: Record<string, unknown>,
    header: { alg?: string; kid?: string } = {},
    key = this.keys.privateKey,
  ): Promise<string> {
    return new SignJWT(this.claims(changes))
      .setProtectedHeader({ alg: 'RS256', kid: KEY_ID, ...header })
      .sign(key)
  }

  close(): Promise<void> {
    this.#server.closeAllConnections()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

type Keys = Awaited<ReturnType<typeof generateKeyPair>>
