import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { space } from '../../theme/tokens.ts'
import { Badge } from './badge.tsx'
import { Icon } from './icon.tsx'
import { Pressable } from './pressable.tsx'
import { Text } from './text.tsx'

/** Larger values are folded at first. */
const OPEN_UP_TO = 30

export interface JsonTreeProps {
  readonly value: unknown
  /** Paths of values that only admins see, as the API names them: `payload.users[0].password`. */
  readonly masked?: readonly string[]
  /** What such a path begins with: `payload`. */
  readonly root?: string
  /** Shows only entries with this text in their name or value. */
  readonly search?: string
}

/** Any JSON, folded where it is large. Numbers keep every digit. */
export function JsonTree({ value, masked = [], root = '', search = '' }: JsonTreeProps) {
  return (
    <Node name={null} value={value} path={root} depth={0} masked={masked} search={search.toLowerCase()} />
  )
}

interface NodeProps {
  readonly name: string | null
  readonly value: unknown
  readonly path: string
  readonly depth: number
  readonly masked: readonly string[]
  readonly search: string
}

function Node({ name, value, path, depth, masked, search }: NodeProps) {
  const children = childrenOf(value)
  const [isOpen, setOpen] = useState(depth < 2 && (children?.length ?? 0) <= OPEN_UP_TO)
  if (search !== '' && !has(name, value, search)) return null
  if (!children || children.length === 0)
    return <Leaf name={name} value={value} isMasked={masked.includes(path)} />
  const isShown = isOpen || search !== ''
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return (
    <View>
      <Pressable
        role="button"
        aria-expanded={isShown}
        aria-label={`${name ?? 'value'}, ${children.length} ${children.length === 1 ? 'entry' : 'entries'}`}
        onPress={() => setOpen(!isOpen)}
        style={styles.fold}
      >
        <Icon name={isShown ? 'down' : 'open'} size={14} color="textMuted" />
        <Text variant="code">
          {name !== null && <Text variant="code" color="accent">{`${name}: `}</Text>}
          {isShown ? open : `${open} ${children.length} ${close}`}
        </Text>
      </Pressable>
      {isShown && (
        <View style={styles.children}>
          {children.map(([key, child]) => (
            <Node
              key={key}
              name={key}
              value={child}
              path={pathOf(path, key, Array.isArray(value))}
              depth={depth + 1}
              masked={masked}
              search={search !== '' && key.toLowerCase().includes(search) ? '' : search}
            />
          ))}
        </View>
      )}
      {isShown && (
        <Text variant="code" style={styles.close}>
          {close}
        </Text>
      )}
    </View>
  )
}

function Leaf({
  name,
  value,
  isMasked,
}: {
  readonly name: string | null
  readonly value: unknown
  readonly isMasked: boolean
}) {
  return (
    <View style={styles.leaf}>
      <Text variant="code" selectable style={styles.value}>
        {name !== null && <Text variant="code" color="accent">{`${name}: `}</Text>}
        {isMasked ? '' : JSON.stringify(value)}
      </Text>
      {isMasked && <Badge label="masked" tone="paused" />}
    </View>
  )
}

/** As written in code. */
function pathOf(parent: string, key: string, isIndex: boolean): string {
  if (isIndex) return `${parent}[${key}]`
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${parent}[${JSON.stringify(key)}]`
  return parent === '' ? key : `${parent}.${key}`
}

function childrenOf(value: unknown): [string, unknown][] | null {
  return typeof value === 'object' && value !== null ? Object.entries(value) : null
}

function has(name: string | null, value: unknown, search: string): boolean {
  if (name?.toLowerCase().includes(search)) return true
  const children = childrenOf(value)
  if (children) return children.some(([key, child]) => has(key, child, search))
  return String(value).toLowerCase().includes(search)
}

const styles = StyleSheet.create({
  fold: { flexDirection: 'row', alignItems: 'center', gap: space.xs, minHeight: 32 },
  children: { paddingLeft: space.l },
  close: { paddingLeft: 18, paddingVertical: 3 },
  leaf: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: space.s,
    paddingVertical: 3,
    paddingLeft: 18,
  },
  // So that a long word is broken instead of cut.
  value: { flexShrink: 1, minWidth: 0 },
})
