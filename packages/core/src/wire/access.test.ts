import { describe, expect, it } from 'vitest'
import {
  ACCESS_CLASSES,
  type AccessRule,
  allows,
  allowsName,
  type Caller,
  DEFAULT_SETTINGS,
  ROLES,
  ruleSchema,
  settingsSchema,
  topicPatternSchema,
} from './access.ts'

const CALLERS = {
  anonymous: { signedIn: false, role: null },
  'no role': { signedIn: true, role: null },
  producer: { signedIn: true, role: 'producer' },
  viewer: { signedIn: true, role: 'viewer' },
  operator: { signedIn: true, role: 'operator' },
  admin: { signedIn: true, role: 'admin' },
} as const satisfies Record<string, Caller>

type Name = keyof typeof CALLERS

const SIGNED_IN = "@request.auth.id != ''"

/** Who is allowed, by rule. The manage rule decides about both reading and acting. */
const TABLE: Record<AccessRule, Record<'enqueue' | 'read' | 'act', readonly Name[]>> = {
  '': { enqueue: ['admin'], read: ['admin'], act: ['admin'] },
  true: {
    enqueue: ['anonymous', 'no role', 'producer', 'operator', 'admin'],
    read: ['anonymous', 'no role', 'viewer', 'operator', 'admin'],
    act: ['anonymous', 'no role', 'operator', 'admin'],
  },
  [SIGNED_IN]: {
    enqueue: ['no role', 'producer', 'operator', 'admin'],
    read: ['no role', 'viewer', 'operator', 'admin'],
    act: ['no role', 'operator', 'admin'],
  },
  producer: {
    enqueue: ['producer', 'operator', 'admin'],
    read: ['operator', 'admin'],
    act: ['operator', 'admin'],
  },
  viewer: {
    enqueue: ['operator', 'admin'],
    read: ['viewer', 'operator', 'admin'],
    act: ['operator', 'admin'],
  },
  operator: { enqueue: ['operator', 'admin'], read: ['operator', 'admin'], act: ['operator', 'admin'] },
  admin: { enqueue: ['admin'], read: ['admin'], act: ['admin'] },
}

const whoMay = (rules: Parameters<typeof allows>[0], access: (typeof ACCESS_CLASSES)[number]) =>
  Object.entries(CALLERS).flatMap(([name, caller]) => (allows(rules, caller, access) ? [name] : []))

describe('allows', () => {
  const rules = Object.keys(TABLE) as AccessRule[]

  it('is tested with every rule', () => {
    expect(rules.sort()).toEqual([...ruleSchema.options].sort())
  })

  describe.each(rules)('under the rule %o', (rule) => {
    it.each(['enqueue', 'read', 'act'] as const)('%s', (access) => {
      const closed = { enqueueRule: '', manageRule: '', operatorsEditPayloads: true } as const
      const set = access === 'enqueue' ? { enqueueRule: rule } : { manageRule: rule }
      expect(whoMay({ ...closed, ...set }, access)).toEqual(TABLE[rule][access])
    })

    it('leaves administration to admins', () => {
      const rules = { enqueueRule: rule, manageRule: rule, operatorsEditPayloads: true }
      expect(whoMay(rules, 'admin')).toEqual(['admin'])
    })

    it('lets operators edit payloads if they may act and a setting says so, and those without a role never', () => {
      const rules = { enqueueRule: 'operator' as const, manageRule: rule }
      expect(whoMay({ ...rules, operatorsEditPayloads: false }, 'edit')).toEqual(['admin'])
      const allowed = TABLE[rule].act.filter((name) => name === 'operator' || name === 'admin')
      expect(whoMay({ ...rules, operatorsEditPayloads: true }, 'edit')).toEqual(allowed)
    })

    it('lets only those edit payloads who may enqueue', () => {
      const rules = { enqueueRule: rule, manageRule: 'true' as const, operatorsEditPayloads: true }
      const allowed = TABLE[rule].enqueue.filter((name) => name === 'operator' || name === 'admin')
      expect(whoMay(rules, 'edit')).toEqual(allowed)
    })
  })

  it('is closed to callers without a token, unless a rule opens it', () => {
    for (const access of ACCESS_CLASSES)
      expect(allows(DEFAULT_SETTINGS, CALLERS.anonymous, access), access).toBe(false)
  })

  it('gives each role its own permissions by default', () => {
    const may = (name: Name) =>
      ACCESS_CLASSES.filter((access) => allows(DEFAULT_SETTINGS, CALLERS[name], access))
    expect(Object.fromEntries(ROLES.map((role) => [role, may(role)]))).toEqual({
      producer: ['enqueue'],
      viewer: ['read'],
      operator: ['enqueue', 'read', 'act'],
      admin: ['enqueue', 'read', 'act', 'edit', 'admin'],
    })
  })
})

describe('allowsName', () => {
  it.each([
    [null, 'anything', true],
    [[], 'mail', false],
    [['mail'], 'mail', true],
    [['mail'], 'mail_digest', false],
    [['mail_*'], 'mail_digest', true],
    [['mail_*'], 'mail', false],
    [['app:*'], 'app:report', true],
    [['app:*'], 'apple', false],
    [['*'], 'anything', true],
    [['a', 'b*'], 'bc', true],
    [['m.il'], 'mail', false],
  ])('%o %s: %s', (patterns, topic, expected) => {
    expect(allowsName(patterns, topic)).toBe(expected)
  })

  it.each(['mail', 'mail_*', 'app:*', 'app:mail', '*'])('accepts the pattern %s', (pattern) => {
    expect(topicPatternSchema.safeParse(pattern).success).toBe(true)
  })

  it.each(['', 'a b', '*mail', 'ma*il', 'mail**', ':*', 'a:b:*', 'x'.repeat(129)])(
    'refuses the pattern %s',
    (pattern) => {
      expect(topicPatternSchema.safeParse(pattern).success).toBe(false)
    },
  )
})

describe('settings', () => {
  it('have valid defaults', () => {
    expect(settingsSchema.parse(DEFAULT_SETTINGS)).toEqual(DEFAULT_SETTINGS)
  })

  it.each([
    'false',
    'TRUE',
    'root',
    ' ',
    "@request.auth.id != ''  ",
    '@request.auth.id = 1',
    'viewer || true',
  ])('refuse the rule %o', (rule) => {
    expect(ruleSchema.safeParse(rule).error?.issues[0]?.message).toContain('must be "" (admins only)')
  })

  it('refuse a masked key without a letter, which would match nothing', () => {
    expect(settingsSchema.shape.maskedKeys.safeParse(['_']).success).toBe(false)
    expect(settingsSchema.shape.maskedKeys.safeParse(['密码']).success).toBe(true)
  })
})
