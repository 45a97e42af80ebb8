import { OncueError } from '@oncue/sdk'
import { fireEvent, render, screen } from '@testing-library/react-native'
import { Text } from '../ui/text.tsx'
import { ReadState, type ReadStateProps } from './read-state.tsx'

const refetch = jest.fn()

function show(
  { data, error = null }: { data?: readonly string[]; error?: Error | null },
  props: Partial<ReadStateProps<readonly string[]>> = {},
) {
  render(
    <ReadState
      read={{ data, error, refetch } as never}
      isEmpty={(names) => names.length === 0}
      empty={{ title: 'No queue is late' }}
      {...props}
    >
      {(names) => <Text>{names.join(', ')}</Text>}
    </ReadState>,
  )
}

beforeEach(() => refetch.mockClear())

describe('a screen', () => {
  it('shows a skeleton during the first load', () => {
    show({})
    expect(screen.getByLabelText('Loading')).toBeVisible()
  })

  it('shows its data', () => {
    show({ data: ['mail'] })
    expect(screen.getByText('mail')).toBeVisible()
  })

  it('shows its empty state when there is nothing to show', () => {
    show({ data: [] })
    expect(screen.getByText('No queue is late')).toBeVisible()
  })

  it('offers to clear a filter that matches nothing', () => {
    const onClearFilter = jest.fn()
    show({ data: [] }, { onClearFilter })
    fireEvent.press(screen.getByLabelText('Clear filter'))
    expect(onClearFilter).toHaveBeenCalledTimes(1)
  })

  it('shows an error above old data, with a retry button', () => {
    show({ data: ['mail'], error: new OncueError('DATABASE_UNAVAILABLE', 'gone') })
    expect(screen.getByText('mail')).toBeVisible()
    expect(screen.getByText(/data may be out of date/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Retry'))
    expect(refetch).toHaveBeenCalledTimes(1)
  })

  it.each([
    ['NETWORK_ERROR', 'The server is not responding', true],
    ['FORBIDDEN', 'No access', false],
    ['JOB_NOT_FOUND', 'No such job', false],
    ['NOT_FOUND', 'Incompatible server version', true],
  ] as const)('explains %s as "%s" when it has no data; retry: %s', (code, title, canRetry) => {
    show({ error: new OncueError(code, 'why') })
    expect(screen.getByText(title)).toBeVisible()
    expect(screen.queryByLabelText('Retry') !== null).toBe(canRetry)
  })
})
