import { describe, expect, test } from 'vitest'
import { splitStatements } from './files.ts'

const texts = (sql: string) => splitStatements(sql).map(({ text }) => text)

describe('a migration is cut into statements', () => {
  test('at each semicolon, without it and without the space around', () => {
    expect(texts('select 1;\n select 2 ;')).toEqual(['select 1', 'select 2 '])
  })

  test('the last of which needs no semicolon', () => {
    expect(texts('select 1; select 2')).toEqual(['select 1', 'select 2'])
  })

  test('that know the line they begin on, not counting comments before them', () => {
    const sql = '-- first\nselect 1;\n\n/* second\n */ select\n 2;\nselect 3'
    expect(splitStatements(sql).map(({ line }) => line)).toEqual([2, 5, 7])
  })

  test('and has none when it is empty or has only comments', () => {
    expect(texts('')).toEqual([])
    expect(texts('-- nothing; here\n/* nor; here */ ;')).toEqual([])
  })
})

describe('a semicolon does not end a statement inside', () => {
  test.each([
    ['a string', `select ';', 'it''s; fine'`],
    ['a string with backslashes', String.raw`select E'it\'s; fine'`],
    ['a quoted name', `select 1 as "a;""b"`],
    ['a comment to the end of the line', 'select 1 -- a; b\n + 2'],
    ['a comment in the middle', 'select /* a; b */ 1'],
    [
      'a dollar-quoted body',
      'create function f() returns int language plpgsql as $$ begin return 1; end; $$',
    ],
    ['a body with a tag', 'do $body$ begin execute $$ select 1; $$; end $body$'],
    ['a trigger of SQLite', 'create trigger t after insert on a begin delete from b; delete from c; end'],
    ['a function of standard SQL', 'create function f() returns int begin atomic select 1; select 2; end'],
    [
      'a trigger with a CASE in it',
      'create trigger t after insert on a begin select case when 1 then 2 else 3 end; delete from c; end',
    ],
  ])('%s', (_, statement) => {
    expect(texts(`${statement};\nselect 2`)).toEqual([statement, 'select 2'])
  })
})

test('BEGIN and END as statements of their own are not mistaken for a body', () => {
  expect(texts('begin; select 1; end; select 2')).toEqual(['begin', 'select 1', 'end', 'select 2'])
})

test('parameters are not mistaken for dollar quotes', () => {
  expect(texts('select $1; select $2')).toEqual(['select $1', 'select $2'])
})
