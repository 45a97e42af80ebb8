import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Badge } from '../../components/ui/badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { space } from '../../theme/tokens.ts'
import { alertRules, type Rule } from './queries.ts'
import { RuleSheet } from './rule-sheet.tsx'
import { conditionOf, placeOf } from './words.ts'

/** When alerts fire. Every role may read rules; only admins change them. */
export function RuleList() {
  const read = useRead(alertRules)
  const lock = useLock('admin')
  const [edited, setEdited] = useState<Rule | 'new' | null>(null)
  return (
    <>
      <ReadState
        read={read}
        isEmpty={(rules) => rules.length === 0}
        empty={{ icon: 'snooze', title: 'No rules', text: 'Without rules, no alerts are sent.' }}
      >
        {(rules) =>
          rules.map((rule) => <RuleRow key={rule.id} rule={rule} onPress={() => setEdited(rule)} />)
        }
      </ReadState>
      <View style={styles.foot}>
        <Button label="Add a rule" icon="plus" lock={lock} onPress={() => setEdited('new')} />
        {lock !== null && (
          <Text variant="small" color="textMuted">
            {lock}
          </Text>
        )}
      </View>
      {edited && <RuleSheet rule={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
    </>
  )
}

function RuleRow({ rule, onPress }: { readonly rule: Rule; readonly onPress: () => void }) {
  const { name, enabled } = rule
  const words = `When ${conditionOf(rule)}`
  return (
    <Row
      label={`Rule ${name}, ${enabled ? 'on' : 'off'}, ${placeOf(rule)}. ${words}`}
      leading={<Icon name={enabled ? 'alerts' : 'snooze'} color="textMuted" />}
      trailing={!enabled && <Badge label="Off" />}
      onPress={onPress}
    >
      <Text variant="heading" color={enabled ? 'text' : 'textMuted'}>
        {name}
      </Text>
      <Text variant="label" color="textMuted">
        {words}
      </Text>
      <Text variant="small" color="textMuted">
        {placeOf(rule)}
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({ foot: { padding: space.l, gap: space.s } })
