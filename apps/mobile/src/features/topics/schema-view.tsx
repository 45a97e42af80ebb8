import { StyleSheet, View } from 'react-native'
import { JsonTree } from '../../components/ui/json-tree.tsx'
import { Text } from '../../components/ui/text.tsx'
import { space } from '../../theme/tokens.ts'
import { isAnything, payloadField, type SchemaField, shapeInWords, valueInWords } from './schema.ts'

/** A JSON Schema field by field, or as JSON if it does not describe an object. */
export function SchemaView({ schema }: { readonly schema: unknown }) {
  const { shape } = payloadField(schema)
  if (isAnything(schema)) return <Text>Any JSON</Text>
  if (shape.kind === 'object') return <Fields fields={shape.fields} />
  if (shape.kind === 'json') return <JsonTree value={schema} />
  return <Text>{shapeInWords(shape)}</Text>
}

function Fields({ fields }: { readonly fields: readonly SchemaField[] }) {
  return (
    <View style={styles.fields}>
      {fields.map((field) => (
        <View key={field.path}>
          <Text variant="code">
            {field.name}
            <Text variant="code" color="textMuted">{`  ${fieldInWords(field)}`}</Text>
          </Text>
          {field.help !== '' && (
            <Text variant="small" color="textMuted">
              {field.help}
            </Text>
          )}
          {field.shape.kind === 'object' && (
            <View style={styles.inner}>
              <Fields fields={field.shape.fields} />
            </View>
          )}
        </View>
      ))}
    </View>
  )
}

/** "whole number, 1 to 10, optional, default 3". */
function fieldInWords({ shape, isRequired, isNullable, fallback }: SchemaField): string {
  const words = [
    shapeInWords(shape),
    isNullable && 'or null',
    isRequired ? 'required' : 'optional',
    fallback !== undefined && `default ${valueInWords(fallback)}`,
  ]
  return words.filter(Boolean).join(', ')
}

const styles = StyleSheet.create({
  fields: { gap: space.s },
  inner: { paddingLeft: space.l, paddingTop: space.s },
})
