import { lookup as ask } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isOncueError, OncueError } from '@oncue/core'
import ipaddr from 'ipaddr.js'

export type Address = { readonly address: string; readonly family: number }

/** All addresses of a name, from the system's resolver. */
export type Resolve = (name: string) => Promise<Address[]>

/** Private networks, without link-local: clouds serve their metadata there. */
const PRIVATE_RANGES = ['private', 'loopback', 'carrierGradeNat', 'uniqueLocal']
/** Metadata services at other addresses: Azure, Alibaba, and over IPv6 AWS and Google. */
const METADATA = ['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** `unicast` for a public address; unknown ranges are not public. */
function rangeOf(text: string): string {
  const address = ipaddr.parse(text)
  if (METADATA.includes(address.toString())) return 'metadata'
  const range = address.range()
  // Nothing outside of 2000::/3 is assigned, and parts of it are translated to IPv4.
  if (range === 'unicast' && address instanceof ipaddr.IPv6 && !address.match(GLOBAL_IPV6)) return 'reserved'
  return range
}

/**
 * Decides which addresses may be called. A channel must not reach what only this machine can reach: databases, admin pages,
 * the metadata service of a cloud.
 */
export class AddressGuard {
  readonly #allowsPrivate: boolean
  readonly #resolve: Resolve

  constructor(allowsPrivate: boolean, resolve: Resolve = (name) => ask(name, { all: true })) {
    this.#allowsPrivate = allowsPrivate
    this.#resolve = resolve
  }

  /** For a URL that is being entered: ADDRESS_NOT_ALLOWED. A name that cannot be resolved now is accepted. */
  async assertAllowed(url: URL): Promise<void> {
    this.assertUrl(url)
    const lookedUp = this.#resolveAllowed(url.hostname)
    await lookedUp.catch((error: unknown) => {
      if (isOncueError(error)) throw error
    })
  }

  /** The checks without a lookup. A literal address is never looked up. */
  assertUrl({ protocol, username, password, hostname }: URL): void {
    if (username !== '' || password !== '')
      throw refusal('contains a user name or a password', 'Remove them; deliveries are signed.')
    if (protocol !== 'https:' && !this.#allowsPrivate)
      throw refusal(
        'does not begin with https://',
        'Use https, or allow private addresses, which allows http.',
      )
    const literal = hostname.replace(/^\[|\]$/g, '')
    if (isIP(literal)) this.#assertAddress(literal)
  }

  /**
   * Replaces the system's lookup: the connection goes to the address that was checked, whatever the name resolves to a moment
   * later.
   */
  readonly lookup: LookupFunction = (name, options, callback) => {
    this.#resolveAllowed(name).then(
      (addresses) => {
        const [first] = addresses
        if (options.all) callback(null, addresses)
        else callback(null, first?.address ?? '', first?.family)
      },
      (error: Error) => callback(error, '', 0),
    )
  }

  async #resolveAllowed(name: string): Promise<Address[]> {
    const addresses = await this.#resolve(name)
    for (const { address } of addresses) this.#assertAddress(address)
    return addresses
  }

  #assertAddress(address: string): void {
    const range = rangeOf(address)
    if (range === 'unicast' || (this.#allowsPrivate && PRIVATE_RANGES.includes(range))) return
    // The usual hint would not help.
    const hint = PRIVATE_RANGES.includes(range)
      ? undefined
      : 'Use another address: this one is never allowed.'
    throw refusal(`resolves to ${address}, which is not a public address (${range})`, hint)
  }
}

function refusal(why: string, hint?: string): OncueError {
  return new OncueError('ADDRESS_NOT_ALLOWED', `The URL ${why}`, { hint })
}
