import { useId, useRef, useState } from 'react'
import { Modal, Pressable as Plain, ScrollView, StyleSheet, TextInput, View } from 'react-native'
import { Icon } from '../../components/ui/icon.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useBack } from '../../lib/use-back.ts'
import { useFocusReturn } from '../../lib/use-focus-return.ts'
import { radius, space, type } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import type { Topic } from '../topics/queries.ts'
import type { Command } from './commands.ts'
import { useCommands } from './use-commands.ts'

export interface PaletteProps {
  readonly onClose: () => void
  readonly onKeys: () => void
  readonly onEnqueue: (topic: Topic) => void
}

/** One line that leads anywhere: pages, queues, topics, jobs, and what can be done. */
export function Palette({ onClose, onKeys, onEnqueue }: PaletteProps) {
  const { colors } = useTheme()
  const listId = useId()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const input = useRef<TextInput>(null)
  const list = useRef<View>(null)
  useBack(true, onClose)
  useFocusReturn()
  const write = (typed: string) => {
    setText(typed)
    setAt(0)
  }
  const commands = useCommands(text, { setText: write, enqueue: onEnqueue, showKeys: onKeys })
  const active = Math.min(at, commands.length - 1)
  const idOf = (index: number) => `${listId}-${index}`
  const move = (to: number) => {
    const next = (to + commands.length) % Math.max(1, commands.length)
    setAt(next)
    const element = (list.current as unknown as Element | null)?.children?.item(next)
    element?.scrollIntoView?.({ block: 'nearest' })
  }
  const choose = (command: Command | undefined) => {
    if (!command) return
    // First: it may open something in its place.
    if (!command.staysOpen) onClose()
    command.run()
    if (command.staysOpen) input.current?.focus()
  }
  const onKey = (event: { readonly nativeEvent: { readonly key: string }; preventDefault: () => void }) => {
    const { key } = event.nativeEvent
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageUp: 0, PageDown: commands.length - 1 }[key]
    if (to === undefined && key !== 'Enter' && key !== 'Escape') return
    event.preventDefault()
    if (to !== undefined) move(to)
    else if (key === 'Enter') choose(commands[active])
    else onClose()
  }
  return (
    <Modal visible transparent animationType="none" onRequestClose={onClose} aria-label="Search or jump">
      <View style={styles.place}>
        <Plain
          style={[StyleSheet.absoluteFill, { backgroundColor: colors.scrim }]}
          onPress={onClose}
          aria-hidden
          tabIndex={-1}
        />
        <View style={[styles.box, { backgroundColor: colors.surfaceRaised }]}>
          <View style={[styles.line, { borderBottomColor: colors.line }]}>
            <Icon name="search" color="textMuted" />
            <TextInput
              ref={input}
              autoFocus
              {...comboboxOf(listId, commands.length > 0 ? idOf(active) : undefined)}
              aria-label="Search or jump"
              autoCapitalize="none"
              autoCorrect={false}
              placeholder="A page, queue, topic, job id or action"
              placeholderTextColor={colors.textMuted}
              value={text}
              onChangeText={write}
              onKeyPress={onKey}
              submitBehavior="submit"
              style={[type.body, styles.input, { color: colors.text }]}
            />
          </View>
          <ScrollView style={styles.scroll} keyboardShouldPersistTaps="always">
            <View ref={list} {...LISTBOX} nativeID={listId} aria-label="Results" style={styles.list}>
              {commands.map((command, index) => (
                <Plain
                  key={command.id}
                  nativeID={idOf(index)}
                  role="option"
                  aria-selected={index === active}
                  tabIndex={-1}
                  onHoverIn={() => setAt(index)}
                  onPress={() => choose(command)}
                  style={[styles.option, index === active && { backgroundColor: colors.surfacePressed }]}
                >
                  <Icon name={command.icon} size={18} color="textMuted" />
                  <Text numberOfLines={1} style={styles.words}>
                    {command.label}
                  </Text>
                  <Text variant="small" color="textMuted" numberOfLines={1}>
                    {command.detail}
                  </Text>
                </Plain>
              ))}
            </View>
          </ScrollView>
          <Text variant="small" color="textMuted" style={styles.foot}>
            ↑ ↓ to move · Enter to choose · Esc to close
          </Text>
        </View>
      </View>
    </Modal>
  )
}

/** A role that react-native has no name for. */
const LISTBOX: object = { role: 'listbox' }

/** What react-native has no name for, and browsers need. */
function comboboxOf(listId: string, activeId: string | undefined): object {
  return {
    ...{ role: 'combobox', 'aria-expanded': true, 'aria-controls': listId, 'aria-autocomplete': 'list' },
    ...(activeId !== undefined && { 'aria-activedescendant': activeId }),
  }
}

const styles = StyleSheet.create({
  place: { flex: 1, alignItems: 'center', paddingTop: '12vh' as never, paddingHorizontal: space.l },
  box: { width: 640, maxWidth: '100%', borderRadius: radius.l, overflow: 'hidden', maxHeight: '70%' },
  line: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.m,
    paddingHorizontal: space.l,
    borderBottomWidth: StyleSheet.hairlineWidth,
  },
  input: { flex: 1, minHeight: 56, outlineStyle: 'solid', outlineWidth: 0 },
  scroll: { flexGrow: 0 },
  list: { padding: space.s },
  option: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.m,
    minHeight: 40,
    paddingHorizontal: space.m,
    borderRadius: radius.m,
  },
  words: { flex: 1, minWidth: 0 },
  foot: { paddingHorizontal: space.l, paddingVertical: space.s },
})
