import { describe, expect, it } from 'vitest'
import { type Address, AddressGuard } from './addresses.ts'

const PUBLIC = ['1.1.1.1', '93.184.216.34', '2606:4700::1111', '2a00:1450:4001::200e']
const OWN = [
  '127.0.0.1',
  '127.1.2.3',
  '10.0.0.5',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '::1',
  'fd00::1',
]
/** Refused whatever is configured: no webhook is there, but the metadata service of a cloud may be. */
const NEVER = [
  ...['169.254.169.254', 'fe80::1', '0.0.0.0', '::', '224.0.0.1', 'ff02::1', '255.255.255.255', '240.0.0.1'],
  ...['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd00:0ec2:0::254', 'fd20:ce::254'],
  ...['192.0.2.1', '198.18.0.1', '2001:db8::1', 'fec0::1', '100::1'],
  // IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
  ...['::ffff:127.0.0.1', '::ffff:1.1.1.1', '::127.0.0.1', '::ffff:0:127.0.0.1'],
  ...['64:ff9b::7f00:1', '64:ff9b:1::a00:1', '2002:7f00:1::', '2001:0:4136:e378::1'],
]

const literal = (address: string) => new URL(`https://${address.includes(':') ? `[${address}]` : address}/`)

/** Resolves only these names. */
function resolving(names: Record<string, string[]>) {
  return async (name: string): Promise<Address[]> => {
    const addresses = names[name]
    if (!addresses) throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' })
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}

const refusal = { code: 'ADDRESS_NOT_ALLOWED' }

describe('the address of a channel', () => {
  const guard = new AddressGuard(false, resolving({ '1.1.1.1': ['1.1.1.1'] }))
  const open = new AddressGuard(true, resolving({}))

  it.each(PUBLIC)('may always be %s', async (address) => {
    guard.assertUrl(literal(address))
    open.assertUrl(literal(address))
  })

  it.each(OWN)('may be %s if private addresses are allowed', (address) => {
    expect(() => guard.assertUrl(literal(address))).toThrow(expect.objectContaining(refusal))
    open.assertUrl(literal(address))
  })

  it.each(NEVER)('is never %s', (address) => {
    expect(() => guard.assertUrl(literal(address))).toThrow(expect.objectContaining(refusal))
    // Not the hint to allow private addresses, which would not help.
    const hint = 'Use another address: this one is never allowed.'
    expect(() => open.assertUrl(literal(address))).toThrow(expect.objectContaining({ ...refusal, hint }))
  })

  it.each(['0x7f.1', '2130706433', '0177.0.0.1', '127.1', '127.0.0.1.', '１２７.0.0.1'])(
    'not %s, which is 127.0.0.1',
    (host) => {
      expect(() => guard.assertUrl(new URL(`https://${host}/`))).toThrow(expect.objectContaining(refusal))
    },
  )

  it.each(['https://ada@pager.example/', 'https://:secret@pager.example/'])('has no login: %s', (url) => {
    for (const any of [guard, open])
      expect(() => any.assertUrl(new URL(url))).toThrow(expect.objectContaining(refusal))
  })

  it('has TLS, except within a private network', () => {
    expect(() => guard.assertUrl(new URL('http://1.1.1.1/'))).toThrow(expect.objectContaining(refusal))
    open.assertUrl(new URL('http://10.0.0.5/'))
  })
})

describe('host names', () => {
  const names = {
    'pager.example': ['93.184.216.34', '2606:4700::1111'],
    'intranet.example': ['10.0.0.5'],
    'both.example': ['93.184.216.34', '10.0.0.5'],
  }
  const guard = new AddressGuard(false, resolving(names))

  it.each([
    ['pager.example', true],
    ['intranet.example', false],
    ['both.example', false],
    ['nobody-knows.example', true],
  ])('are resolved when they are entered: %s', async (name, isAllowed) => {
    const checked = guard.assertAllowed(new URL(`https://${name}/hook`))
    if (isAllowed) await checked
    else await expect(checked).rejects.toMatchObject(refusal)
  })

  const lookedUp = (name: string, all: boolean) =>
    new Promise((resolve) => {
      guard.lookup(name, { all }, (error, address) => resolve(error ?? address))
    })

  it('are resolved again by the connection, which gets the address that was checked', async () => {
    expect(await lookedUp('pager.example', true)).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ])
    expect(await lookedUp('pager.example', false)).toBe('93.184.216.34')
    expect(await lookedUp('intranet.example', true)).toMatchObject(refusal)
    expect(await lookedUp('both.example', false)).toMatchObject(refusal)
    expect(await lookedUp('nobody-knows.example', true)).toMatchObject({ code: 'ENOTFOUND' })
  })
})
