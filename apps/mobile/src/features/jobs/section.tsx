import { type ReactNode, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { CopyButton } from '../../components/ui/copy-button.tsx'
import { Field } from '../../components/ui/field.tsx'
import { JsonTree } from '../../components/ui/json-tree.tsx'
import { Text } from '../../components/ui/text.tsx'
import { radius, space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'

export interface SectionProps {
  readonly title: string
  readonly action?: ReactNode
  readonly children: ReactNode
}

export function Section({ title, action, children }: SectionProps) {
  return (
    <View style={styles.section}>
      <View style={styles.head}>
        <Text variant="heading" level={2} style={styles.title}>
          {title}
        </Text>
        {action}
      </View>
      {children}
    </View>
  )
}

export function Card({ children }: { readonly children: ReactNode }) {
  const { colors } = useTheme()
  return (
    <View style={[styles.card, { backgroundColor: colors.surfaceRaised, borderColor: colors.line }]}>
      {children}
    </View>
  )
}

/** From this length on, a search field is shown. */
const LARGE = 400

export interface JsonSectionProps {
  readonly title: string
  readonly value: unknown
  readonly masked: readonly string[]
  /** The job's field: `payload`. */
  readonly root: string
}

/** Any JSON of a job: as a tree, to be searched and copied. */
export function JsonSection({ title, value, masked, root }: JsonSectionProps) {
  const [search, setSearch] = useState('')
  const text = JSON.stringify(value, null, 2) ?? 'null'
  return (
    <Section title={title} action={<CopyButton label={`Copy the ${title.toLowerCase()}`} text={text} />}>
      <Card>
        {text.length > LARGE && (
          <Field
            label={`Search the ${title.toLowerCase()}`}
            placeholder="Search names and values"
            isBare
            value={search}
            onChangeText={setSearch}
          />
        )}
        <JsonTree value={value} masked={masked} root={root} search={search} />
      </Card>
    </Section>
  )
}

const styles = StyleSheet.create({
  section: { gap: space.s },
  head: { flexDirection: 'row', alignItems: 'center', minHeight: 40 },
  title: { flex: 1 },
  card: { borderWidth: 1, borderRadius: radius.l, padding: space.l, gap: space.s },
})
