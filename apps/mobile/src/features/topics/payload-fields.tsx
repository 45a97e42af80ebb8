import { StyleSheet, View } from 'react-native'
import { Chip } from '../../components/ui/chip.tsx'
import { Field } from '../../components/ui/field.tsx'
import { Text } from '../../components/ui/text.tsx'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import type { Entered, Errors } from './form.ts'
import { type SchemaField, shapeInWords, valueInWords } from './schema.ts'

export interface PayloadFieldsProps {
  readonly field: SchemaField
  readonly entered: Entered
  readonly errors: Errors
  readonly onChange: (path: string, text: string) => void
}

/** The fields of a schema, each in the control that fits it. */
export function PayloadFields(props: PayloadFieldsProps) {
  const { field, entered, errors, onChange } = props
  const { path, shape } = field
  if (shape.kind === 'object') return <Group {...props} fields={shape.fields} />
  const label = labelOf(field)
  const text = entered[path] ?? ''
  const error = errors[path] ?? null
  const change = (next: string) => onChange(path, next)
  if (shape.kind === 'boolean')
    return (
      <Choice
        {...{ label, text, error, values: [true, false], help: field.help, onChange: change }}
        inWords={(value) => (value === true ? 'Yes' : 'No')}
      />
    )
  if (shape.kind === 'choice')
    return <Choice {...{ label, text, error, values: shape.values, help: field.help, onChange: change }} />
  const isLong = shape.kind === 'list' || shape.kind === 'json'
  return (
    <Field
      label={label}
      value={text}
      onChangeText={change}
      error={error}
      help={[field.help, helpOf(field)].filter(Boolean).join(' · ')}
      multiline={isLong}
      isCode={shape.kind === 'json'}
      {...(shape.kind === 'number' && {
        inputMode: shape.isWhole ? ('numeric' as const) : ('decimal' as const),
      })}
    />
  )
}

interface GroupProps extends PayloadFieldsProps {
  readonly fields: readonly SchemaField[]
}

function Group({ field, fields, errors, ...rest }: GroupProps) {
  const { colors } = useTheme()
  const error = errors[field.path]
  const isWhole = isRoot(field)
  return (
    <View
      role="group"
      aria-label={field.name}
      style={[styles.group, !isWhole && [styles.inner, { borderLeftColor: colors.line }]]}
    >
      {!isWhole && <Text variant="label">{labelOf(field)}</Text>}
      {error !== undefined && (
        <Text variant="small" color="bad" role="alert">
          {error}
        </Text>
      )}
      {fields.map((each) => (
        <PayloadFields key={each.path} {...rest} errors={errors} field={each} />
      ))}
    </View>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly values: readonly unknown[]
  readonly text: string
  readonly error: string | null
  readonly help: string
  readonly inWords?: (value: unknown) => string
  readonly onChange: (text: string) => void
}

/** One of a few values. Pressing the chosen one again clears it. */
function Choice({ label, values, text, error, help, inWords = valueInWords, onChange }: ChoiceProps) {
  return (
    <View role="group" aria-label={label}>
      <Text variant="label">{label}</Text>
      <View style={styles.chips}>
        {values.map((value) => {
          const json = JSON.stringify(value)
          const isOn = json === text
          return (
            <Chip key={json} label={inWords(value)} isOn={isOn} onPress={() => onChange(isOn ? '' : json)} />
          )
        })}
      </View>
      {(error !== null || help !== '') && (
        <Text
          variant="small"
          color={error === null ? 'textMuted' : 'bad'}
          role={error === null ? undefined : 'alert'}
        >
          {error ?? help}
        </Text>
      )}
    </View>
  )
}

const isRoot = ({ name, path }: SchemaField) => name === path

const ROOTS: Readonly<Record<string, string>> = { payload: 'Payload', answer: 'Answer', signal: 'Data' }

function labelOf(field: SchemaField): string {
  const { name, title, isRequired } = field
  const label = isRoot(field) ? (ROOTS[name] ?? name) : (title ?? name)
  return isRequired ? label : `${label} (optional)`
}

function helpOf({ shape }: SchemaField): string {
  if (shape.kind === 'list') return `One ${shape.item.kind} per line`
  if (shape.kind === 'json') return 'JSON'
  return shapeInWords(shape)
}

const styles = StyleSheet.create({
  group: { gap: space.l },
  inner: { borderLeftWidth: 2, paddingLeft: space.m },
  chips: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.s },
})
