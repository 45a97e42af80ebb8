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
    ['nas.local:4400/oncue', 'http://nas.local:4400/oncue'],
    ['[::1]:4400', 'http://[::1]:4400'],
    ['HTTPS://Oncue.Example.com', 'https://oncue.example.com'],
    // None of these is a local address.
    ['localhost.evil.example', 'https://localhost.evil.example'],
    ['127.evil.example', 'https://127.evil.example'],
    ['10.evil.example:80', 'https://10.evil.example:80'],
    ['192.168.1.evil.example', 'https://192.168.1.evil.example'],
    ['nas.local.evil.example', 'https://nas.local.evil.example'],
    ['evil.example/nas.local', 'https://evil.example/nas.local'],
  ])('%s means %s', (typed, url) => expect(toServerUrl(typed)).toBe(url))

  it.each([
    ...['', 'https://', 'two words', 'https://user@host', 'https://host/?a=1', 'ftp://host'],
    ...[
      'https://good.example@evil.example',
      'https://good.example:x@evil.example',
      'good.example@evil.example',
    ],
    ...[
      'https://evil.example\\good.example',
      'https://evil.example\\@good.example',
      'https://evil.example/@good',
    ],
    ...[
      'https://good.exampl\u0435',
      'https://good.example\u2215.evil.example',
      'https://good.example%2f.evil',
    ],
  ])('%j is no address', (typed) => expect(toServerUrl(typed)).toBeUndefined())

  it('has a host', () => expect(hostOf('https://oncue.example.com:8443/x')).toBe('oncue.example.com:8443'))
})
