/** Values that JSON drops, turns into `{}` or refuses. */
type NotJson =
  | bigint
  | symbol
  | ((...args: never[]) => unknown)
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | PromiseLike<unknown>
  | RegExp
  | Error

type IsAny<T> = 0 extends 1 & T ? true : false

/** `Value` as it comes back after it was stored as JSON: a Date as text, a class without its methods. */
export type Stored<Value> =
  IsAny<Value> extends true
    ? Value
    : Value extends { toJSON(...args: never[]): infer Json }
      ? Stored<Json>
      : Value extends NotJson
        ? never
        : Value extends object
          ? { [Key in keyof Value]: Stored<Value[Key]> }
          : Value

/** How deep a type is searched for what JSON cannot hold; types may refer to themselves. */
type Deep = [1, 1, 1, 1, 1]

/** The parts of `Value` that JSON cannot hold; `never` if there are none, or none that the type shows. */
type Unstorable<Value, Left extends unknown[] = Deep> =
  IsAny<Value> extends true
    ? never
    : Value extends { toJSON(...args: never[]): infer Json }
      ? Left extends [unknown, ...infer Rest]
        ? Unstorable<Json, Rest>
        : never
      : Value extends NotJson
        ? Value
        : Value extends readonly (infer Element)[]
          ? Left extends [unknown, ...infer Rest]
            ? Unstorable<Element, Rest>
            : never
          : Value extends object
            ? Left extends [unknown, ...infer Rest]
              ? { [Key in keyof Value]-?: Unstorable<Value[Key], Rest> }[keyof Value]
              : never
            : never

/** Refuses at compile time an argument that could not be stored. */
export type Storable<Value> = [Unstorable<Value>] extends [never]
  ? unknown
  : { readonly 'must be a JSON value': Unstorable<Value> }

/** Refuses at compile time a function whose result could not be stored. */
export type ReturnsStorable<Value> = [Unstorable<Value>] extends [never]
  ? unknown
  : { readonly 'a step must return a JSON value': Unstorable<Value> }
