import type { Shape } from '../contract/shape.ts';

/** A test object with one malformed field. */
export interface Malformation {
  readonly what: string;
  readonly field: string;
  readonly reported: boolean;
  readonly content: Record<string, unknown>;
}

const SAMPLES = { string: 'x', integer: 3, number: 1.5, boolean: true, array: ['x'], object: { x: 'x' } } as const;

/** Returns a sample value that has all fields of a shape. */
export function sampleOf(shape: Shape): unknown {
  if (shape['x-kubernetes-int-or-string']) return 1;
  if (shape.type === 'array') return shape.items ? [sampleOf(shape.items)] : ['x'];
  if (shape.type !== 'object') return shape.type === undefined ? { x: 'x' } : SAMPLES[shape.type];
  const own = Object.entries(shape.properties ?? {}).map(([field, inner]) => [field, sampleOf(inner)]);
  const more = shape.additionalProperties ? [['x', sampleOf(shape.additionalProperties)]] : [];
  return Object.fromEntries([...own, ...more]);
}

type Path = readonly (string | number)[];

function* fieldsOf(
  shape: Shape,
  path: Path = [],
): Generator<{ readonly path: Path; readonly shape: Shape; readonly required: boolean }> {
  for (const [field, inner] of Object.entries(shape.properties ?? {})) {
    yield { path: [...path, field], shape: inner, required: shape.required?.includes(field) === true };
    yield* fieldsOf(inner, [...path, field]);
  }
  const { items, additionalProperties } = shape;
  if (items) {
    yield { path: [...path, 0], shape: items, required: true };
    yield* fieldsOf(items, [...path, 0]);
  }
  if (additionalProperties) {
    yield { path: [...path, 'x'], shape: additionalProperties, required: false };
    yield* fieldsOf(additionalProperties, [...path, 'x']);
  }
}

const isOf = (value: unknown, shape: Shape): boolean => {
  if (shape['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value);
  if (shape.type === 'integer') return Number.isInteger(value);
  if (shape.type === 'number') return typeof value === 'number';
  return shape.type === (Array.isArray(value) ? 'array' : typeof value);
};

const ABSENT = Symbol('absent');

function changed(value: unknown, [step, ...rest]: Path, to: unknown): unknown {
  if (step === undefined) return to;
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? changed(item, rest, to) : item));
  const { [step]: old, ...others } = value as Record<string, unknown>;
  const now = changed(old, rest, to);
  return now === ABSENT ? others : { ...others, [step]: now };
}

const written = (path: Path): string =>
  path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('');

/** Yields variants of each field: absent, null, and a value of each other type. */
export function* malformations(shape: Shape): Generator<Malformation> {
  const { apiVersion: _a, kind: _k, metadata: _m, ...properties } = shape.properties ?? {};
  const own: Shape = { ...shape, properties };
  const sample = sampleOf(own);
  for (const { path, shape: inner, required } of fieldsOf(own)) {
    if (inner.type === undefined && !inner['x-kubernetes-int-or-string'] && !required) continue;
    const field = written(path);
    const wrong = Object.entries(SAMPLES).filter(([, value]) => inner.type !== undefined && !isOf(value, inner));
    const cases: [string, unknown, boolean][] = [
      ...(typeof path.at(-1) === 'number' ? [] : ([['missing', ABSENT, required]] as [string, unknown, boolean][])),
      ['null', null, required && inner.nullable !== true],
      ...wrong.map(([name, value]): [string, unknown, boolean] => [`of type ${name}`, value, true]),
    ];
    for (const [name, value, reported] of cases) {
      const content = structuredClone(changed(sample, path, value)) as Record<string, unknown>;
      yield { what: `${field} is ${name}`, field, reported, content };
    }
  }
}
