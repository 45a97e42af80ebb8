import { describe, expect, it } from 'vitest'
import { assertQueue, assertTopic, queueSchema, topicSchema } from './names.ts'

describe('a topic', () => {
  it.each([
    'mail_digest',
    'a',
    '_',
    '9',
    'billing:check',
    'v1/mail.digest-daily',
    'a/b:c.d',
    'x'.repeat(128),
  ])('may be %s', (topic) => {
    assertTopic(topic)
    expect(topicSchema.parse(topic)).toBe(topic)
  })

  it.each<[unknown, string]>([
    ['', 'topic "" is empty'],
    ['x'.repeat(129), 'has 129 characters, at most 128 are allowed'],
    ['mail digest', 'topic "mail digest" contains " "; allowed are letters, digits and _ . - /'],
    ['mail\n', 'topic "mail\\n" contains "\\n"'],
    ['邮件', 'contains "邮"'],
    ['a:b:c', 'contains more than one ":"'],
    [':a', 'has an empty part before or after ":"'],
    ['a:', 'has an empty part before or after ":"'],
    ['.hidden', 'has a part that does not start with a letter, a digit or _'],
    ['app:-x', 'has a part that does not start with a letter, a digit or _'],
    [7, 'topic 7 must be a string'],
    [undefined, 'topic undefined must be a string'],
  ])('may not be %j', (topic, message) => {
    expect(() => assertTopic(topic)).toThrow(message)
    expect(() => assertTopic(topic)).toThrow(expect.objectContaining({ code: 'INVALID_TOPIC' }))
    expect(topicSchema.safeParse(topic).success).toBe(false)
  })
})

describe('a queue', () => {
  it('has the alphabet of topics', () => {
    assertQueue('eu/high.1')
    expect(queueSchema.parse('eu/high.1')).toBe('eu/high.1')
  })

  it('has no prefix', () => {
    expect(() => assertQueue('app:high')).toThrow(
      'queue "app:high" contains ":", which is allowed only in topics',
    )
    expect(() => assertQueue('')).toThrow(expect.objectContaining({ code: 'INVALID_QUEUE' }))
    expect(queueSchema.safeParse('app:high').error?.issues[0]?.message).toBe(
      'contains ":", which is allowed only in topics',
    )
  })
})
