import { describe, expect, it } from 'vitest'
import { hostOf, toServerUrl } from './address.ts'

describe('an address as people type it', () => {
  it.each([
    ['oncue.example.com', 'https://oncue.example.com'],
    [' https://oncue.example.com/ ', 'https://oncue.example.com'],
    ['https://example.com/oncue/', 'https://example.com/oncue'],
    ['localhost:4400', 'http://localhost:4400'],
    ['192.168.1.20:4400', 'http://192.168.1.20:4400'],
    ['172.20.0.1:4400', 'http://172.20.0.1:4400'],
    ['172.40.0.1:4400', 'https://172.40.0.1:4400'],
  ])('%s means %s', (typed, url) => expect(toServerUrl(typed)).toBe(url))

  it.each(['', 'https://', 'two words', 'https://user@host', 'https://host/?a=1', 'ftp://host'])(
    '%j is none',
    (typed) => expect(toServerUrl(typed)).toBeUndefined(),
  )

  it('has a host', () => expect(hostOf('https://oncue.example.com:8443/x')).toBe('oncue.example.com:8443'))
})
