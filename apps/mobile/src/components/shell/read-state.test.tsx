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

describe('what a screen shows', () => {
  it('at first: where things will be', () => {
    show({})
    expect(screen.getByLabelText('Loading')).toBeVisible()
  })

  it('with data: the data', () => {
    show({ data: ['mail'] })
    expect(screen.getByText('mail')).toBeVisible()
  })

  it('with nothing, and all is well', () => {
    show({ data: [] })
    expect(screen.getByText('No queue is late')).toBeVisible()
  })

  it('with nothing because of a filter, which can be cleared', () => {
    const onClearFilter = jest.fn()
    show({ data: [] }, { onClearFilter })
    fireEvent.press(screen.getByLabelText('Clear filter'))
    expect(onClearFilter).toHaveBeenCalledTimes(1)
  })

  it('with an error over old data: both, and a way to try again', () => {
    show({ data: ['mail'], error: new OncueError('DATABASE_UNAVAILABLE', 'gone') })
    expect(screen.getByText('mail')).toBeVisible()
    expect(screen.getByText(/data may be out of date/)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Retry'))
    expect(refetch).toHaveBeenCalledTimes(1)
  })

  it.each([
    ['NETWORK_ERROR', 'The server is not responding', true],
    ['FORBIDDEN', 'No access', false],
    ['JOB_NOT_FOUND', 'This job is gone', false],
    ['NOT_FOUND', 'Incompatible server version', true],
  ] as const)('with %s instead of data: "%s"; retry: %s', (code, title, canRetry) => {
    show({ error: new OncueError(code, 'why') })
    expect(screen.getByText(title)).toBeVisible()
    expect(screen.queryByLabelText('Retry') !== null).toBe(canRetry)
  })
})
