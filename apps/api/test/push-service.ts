import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { importJWK, jwtVerify } from 'jose'
import type { Received } from './receiver.ts'

// A browser and its push service, after RFC 8291, 8188 and 8292: a second implementation, with Node's own cryptography.

/** A browser that has subscribed. */
export class Browser {
  readonly #ecdh = createECDH('prime256v1')
  readonly #auth = randomBytes(16)
  readonly endpoint: string

  constructor(endpoint: string) {
    this.#ecdh.generateKeys()
    this.endpoint = endpoint
  }

  get subscription() {
    const keys = { p256dh: this.#ecdh.getPublicKey('base64url'), auth: this.#auth.toString('base64url') }
    return { endpoint: this.endpoint, keys }
  }

  /** One record of aes128gcm. */
  decrypt(body: Buffer): string {
    const [salt, idLength] = [body.subarray(0, 16), body.readUInt8(20)]
    const senderKey = body.subarray(21, 21 + idLength)
    const record = body.subarray(21 + idLength)
    const shared = this.#ecdh.computeSecret(senderKey)
    const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), this.#ecdh.getPublicKey(), senderKey])
    const ikm = hkdfSync('sha256', shared, this.#auth, keyInfo, 32)
    const derive = (info: string, length: number) =>
      Buffer.from(hkdfSync('sha256', Buffer.from(ikm), salt, `Content-Encoding: ${info}\0`, length))
    const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12))
    decipher.setAuthTag(record.subarray(-16))
    const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()])
    // The last record ends with 2 and zeros.
    return padded.subarray(0, padded.lastIndexOf(2)).toString()
  }
}

/** Checks the signature of a request: ES256 by the key with which the browser subscribed. */
export async function verifyVapid({ headers }: Received, publicKey: string, audience: string) {
  const [, token = '', key = ''] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(headers.authorization ?? '') ?? []
  if (key !== publicKey) throw new Error('another key than the browser subscribed with')
  const point = Buffer.from(key, 'base64url')
  const coordinate = (from: number) => point.subarray(from, from + 32).toString('base64url')
  const jwk = { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) }
  const { payload } = await jwtVerify(token, await importJWK(jwk, 'ES256'), {
    algorithms: ['ES256'],
    audience,
  })
  return payload
}
