import {
  goFloat,
  goQuote,
  invalid,
  NO_FIELD,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from '../apimachinery/errors/schema-causes.ts';
import { equalJson, goJson, isNumber, isRecord, own } from '../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { hasFormat } from './formats.ts';
import { isUntouched, itemKey, oldItems } from './lists.ts';
import type { SchemaNode } from './model/node.ts';
import { RegExpError } from './model/regexp.ts';

/** The result for one alternative of a schema. The alternative with the most successful checks is the best. */
interface Verdict {
  readonly causes: StatusCause[];
  matches: number;
}

const MAX_SAFE = 2 ** 53 - 1;
const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);

interface GoType {
  readonly type: string;
  readonly format: string;
}

/**
 * Returns the Go type of a JSON number. In Go's decoder, a 64-bit integer is an int64, and any other number is a
 * float64.
 */
function goTypeOf(value: unknown): GoType {
  if (value === null || value === undefined) return { type: 'null', format: '' };
  if (typeof value === 'boolean') return { type: 'boolean', format: '' };
  if (typeof value === 'string') return { type: 'string', format: '' };
  if (typeof value === 'bigint') {
    return value <= MAX_INT64 && value >= MIN_INT64
      ? { type: 'integer', format: 'int64' }
      : { type: 'number', format: 'float64' };
  }
  if (typeof value === 'number') {
    // An unsafe number had a fraction, an exponent or more than 64 bits in its text, so Go reads a float.
    return Number.isSafeInteger(value) ? { type: 'integer', format: 'int64' } : { type: 'number', format: 'float64' };
  }
  return { type: Array.isArray(value) ? 'array' : 'object', format: '' };
}

const inBody = (path: string, rest: string): string => `${path} in body ${rest}`;

function checkType(value: unknown, node: SchemaNode, path: string, verdict: Verdict): void {
  if (node.types.length === 0 && node.format === '') return;
  const mismatch = (expected: string, actual: string): void => {
    verdict.causes.push(
      typeInvalid(
        path === '' ? NO_FIELD : path,
        actual,
        inBody(path, `must be of type ${expected}: ${goQuote(actual)}`),
      ),
    );
  };
  if (value === null || value === undefined) {
    if (node.types.length > 0 && !node.nullable) mismatch(node.types.join(','), 'null');
    return;
  }
  const actual = goTypeOf(value);
  const wholeFloat = actual.type === 'number' && Math.abs(Number(value)) <= MAX_SAFE && Number.isInteger(Number(value));
  const integerAsNumber = actual.type === 'integer' && node.types.includes('number');
  const floatAsInteger = wholeFloat && node.types.includes('integer');
  const textual = actual.type === 'string' || actual.type === 'array';
  const typed = node.types.includes(actual.type);
  if (!textual && node.format !== '') {
    if (!(typed || actual.format === node.format || floatAsInteger || integerAsNumber))
      mismatch(node.format, actual.format);
    return;
  }
  const numeric = node.types.includes('number') || node.types.includes('integer');
  if (!numeric && node.format !== '' && textual) return;
  if (node.types.length > 0 && !(typed || floatAsInteger || integerAsNumber))
    mismatch(node.types.join(','), actual.type);
}

/** Returns the error for a text that does not match a pattern. */
function patternProblem({ pattern, patternText }: SchemaNode, value: string): string | undefined {
  if (pattern === undefined) return undefined;
  if (!(pattern instanceof RegExpError)) return pattern.test(value) ? undefined : patternText;
  return `${patternText}, but pattern is invalid: ${pattern.message}`;
}

/** As in kube-apiserver, the function reports only the first problem of a text. */
function checkText(value: string, node: SchemaNode, path: string, verdict: Verdict): void {
  const field = path === '' ? NO_FIELD : path;
  if (node.maxLength !== undefined || node.minLength !== undefined) {
    let length = 0;
    for (const _ of value) length++;
    if (node.maxLength !== undefined && length > node.maxLength) {
      verdict.causes.push(tooLong(field, node.maxLength));
      return;
    }
    if (node.minLength !== undefined && length < node.minLength) {
      verdict.causes.push(invalid(field, value, inBody(path, `should be at least ${node.minLength} chars long`)));
      return;
    }
  }
  const unmatched = patternProblem(node, value);
  if (unmatched !== undefined) verdict.causes.push(invalid(field, value, inBody(path, `should match '${unmatched}'`)));
}

function checkString(value: string, node: SchemaNode, path: string, verdict: Verdict): void {
  const field = path === '' ? NO_FIELD : path;
  checkText(value, node, path, verdict);
  if (node.format !== '' && !hasFormat(node.format, value)) {
    verdict.causes.push(typeInvalid(field, value, inBody(path, `must be of type ${node.format}: ${goQuote(value)}`)));
  }
}

/**
 * Checks that a number fits the type and the format of the schema.
 * @param what the name of the number in the error
 */
function rangeProblem(what: string, value: number | bigint, node: SchemaNode, path: string): string | undefined {
  const type = node.types.length === 1 ? node.types[0] : undefined;
  if (type === undefined) return undefined;
  const whole = typeof value === 'bigint' || Number.isInteger(value);
  if (type === 'integer') {
    const limit = node.format === 'int32' ? 2 ** 31 : 2 ** 63;
    const fits =
      typeof value === 'bigint'
        ? value <= (node.format === 'int32' ? 2n ** 31n - 1n : MAX_INT64) &&
          value >= (node.format === 'int32' ? -(2n ** 31n) : MIN_INT64)
        : value < limit && value >= -limit;
    if (whole && fits) return undefined;
  } else {
    if (node.format !== 'float' && node.format !== 'float32') return undefined;
    if (Math.abs(Number(value)) <= 3.4028234663852886e38) return undefined;
  }
  const format = node.format === '' ? '(default format)' : `with format ${node.format}`;
  return `${what} value must be of type ${type} ${format} in ${path}`;
}

/** Formats a limit for an error. */
const shownLimit = (limit: number, isInteger: boolean): string =>
  isInteger && Number.isFinite(limit) ? BigInt(limit).toString() : goFloat(limit);

const EPSILON = 1e-9;

/**
 * Returns whether a number is whole, with the tolerance of the validator in kube-apiserver (`IsFloat64AJSONInteger`).
 */
function isWhole(value: number): boolean {
  const whole = Math.trunc(value);
  if (Math.abs(value) > MAX_SAFE) return false;
  return whole === value || (whole > 0 && (value - whole) / (value + whole) < EPSILON);
}

function boundProblem(
  value: number | bigint,
  limit: number,
  isExclusive: boolean,
  side: 'less' | 'greater',
): string | undefined {
  const isBeyond = side === 'less' ? value > limit : value < limit;
  const isWithin = side === 'less' ? value < limit : value > limit;
  if (isExclusive) return isWithin ? undefined : `${side} than`;
  return isBeyond ? `${side} than or equal to` : undefined;
}

function multipleProblem(value: number | bigint, factor: number, isInteger: boolean, path: string): string | undefined {
  if (factor < 0 || (isInteger && factor === 0))
    return `factor MultipleOf declared for ${path} must be positive: ${goFloat(factor)}`;
  const quotient = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor;
  const isMultiple = isInteger ? BigInt(value) % BigInt(factor) === 0n : isWhole(quotient);
  return isMultiple ? undefined : inBody(path, `should be a multiple of ${goFloat(factor)}`);
}

function checkNumber(value: number | bigint, node: SchemaNode, path: string, verdict: Verdict): void {
  const field = path === '' ? NO_FIELD : path;
  const range = rangeProblem('Checked', value, node, path);
  if (range !== undefined) verdict.causes.push(invalid(NO_FIELD, '', range));
  const isWholeValue = goTypeOf(value).type === 'integer';
  /** Reports a limit that does not fit the type of the schema. kube-apiserver compares floats for such a limit. */
  const isNative = (what: string, limit: number): boolean => {
    const problem = rangeProblem(what, limit, node, path);
    if (problem !== undefined) verdict.causes.push(invalid(NO_FIELD, '', problem));
    return problem === undefined && isWholeValue;
  };
  const { multipleOf, minimum, maximum } = node;
  if (multipleOf !== undefined) {
    const isInteger = isNative('MultipleOf', multipleOf);
    // As in kube-openapi, the factor for an integer is truncated to an integer.
    const factor = isInteger ? Math.trunc(multipleOf) : multipleOf;
    const problem = multipleProblem(value, factor, isInteger, path);
    const isWrongFactor = factor < 0 || (isInteger && factor === 0);
    if (problem !== undefined) verdict.causes.push(invalid(field, isWrongFactor ? factor : value, problem));
  }
  for (const [what, given, isExclusive, side] of [
    ['Minimum boundary', minimum, node.exclusiveMinimum, 'greater'],
    ['Maximum boundary', maximum, node.exclusiveMaximum, 'less'],
  ] as const) {
    if (given === undefined) continue;
    const isInteger = isNative(what, given);
    const limit = isInteger ? Math.trunc(given) : given;
    const words = boundProblem(isInteger ? value : Number(value), limit, isExclusive, side);
    if (words === undefined) continue;
    verdict.causes.push(invalid(field, value, inBody(path, `should be ${words} ${shownLimit(limit, isInteger)}`)));
  }
}

function checkArray(value: unknown[], node: SchemaNode, path: string, verdict: Verdict, old: unknown): void {
  const field = path === '' ? NO_FIELD : path;
  if (node.items !== undefined) {
    const { items } = node;
    const before = oldItems(old, node);
    for (let i = 0; i < value.length; i++) {
      checkValue(value[i], items, `${path}[${i}]`, verdict, before?.get(itemKey(value[i], node)));
    }
  }
  if (node.minItems !== undefined && value.length < node.minItems) {
    verdict.causes.push(invalid(field, value.length, inBody(path, `should have at least ${node.minItems} items`)));
  }
  if (node.maxItems !== undefined && value.length > node.maxItems) {
    verdict.causes.push(tooMany(field, value.length, node.maxItems));
  }
}

function checkObject(
  value: Record<string, unknown>,
  node: SchemaNode,
  path: string,
  verdict: Verdict,
  old: unknown,
): void {
  const field = path === '' ? NO_FIELD : path;
  const keys = Object.keys(value);
  if (node.minProperties !== undefined && keys.length < node.minProperties) {
    const words = inBody(path, `should have at least ${node.minProperties} properties`);
    verdict.causes.push(invalid(field, keys.length, words));
  }
  if (node.maxProperties !== undefined && keys.length > node.maxProperties) {
    verdict.causes.push(tooMany(field, keys.length, node.maxProperties));
  }
  for (const key of keys) {
    const below = path === '' ? key : `${path}.${key}`;
    const child = node.properties.get(key) ?? node.additional;
    if (child !== undefined) checkValue(value[key], child, below, verdict, isRecord(old) ? own(old, key) : undefined);
    else if (node.closed) {
      verdict.causes.push(invalid(below, '', `${below} in body is a forbidden property`));
    }
  }
  for (const name of node.required) {
    if (!Object.hasOwn(value, name)) verdict.causes.push(required(path === '' ? name : `${path}.${name}`));
  }
}

function alternative(value: unknown, node: SchemaNode, path: string): Verdict {
  const verdict: Verdict = { causes: [], matches: 0 };
  checkValue(value, node, path, verdict);
  return verdict;
}

function best(failures: readonly Verdict[]): StatusCause[] {
  let chosen: Verdict | undefined;
  for (const failure of failures) if (chosen === undefined || failure.matches > chosen.matches) chosen = failure;
  return chosen?.causes ?? [];
}

function checkCombinations(value: unknown, node: SchemaNode, path: string, verdict: Verdict): void {
  const name = goQuote(path);
  if (node.anyOf.length > 0) {
    const tried = node.anyOf.map((schema) => alternative(value, schema, path));
    if (tried.every((each) => each.causes.length > 0)) {
      verdict.causes.push(invalid(NO_FIELD, '', `${name} must validate at least one schema (anyOf)`), ...best(tried));
    }
  }
  if (node.oneOf.length > 0) {
    const tried = node.oneOf.map((schema) => alternative(value, schema, path));
    const valid = tried.filter((each) => each.causes.length === 0).length;
    if (valid !== 1) {
      const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
      verdict.causes.push(invalid(NO_FIELD, '', `${name} must validate one and only one schema (oneOf). ${found}`));
      if (valid === 0) verdict.causes.push(...best(tried));
    }
  }
  if (node.allOf.length > 0) {
    const tried = node.allOf.map((schema) => alternative(value, schema, path));
    const valid = tried.filter((each) => each.causes.length === 0).length;
    for (const each of tried) verdict.causes.push(...each.causes);
    if (valid !== tried.length) {
      const none = valid === 0 ? '. None validated' : '';
      verdict.causes.push(invalid(NO_FIELD, '', `${name} must validate all the schemas (allOf)${none}`));
    }
  }
  if (node.not !== undefined && alternative(value, node.not, path).causes.length === 0) {
    verdict.causes.push(invalid(NO_FIELD, '', `${name} must not validate the schema (not)`));
  }
}

function checkEnum(value: unknown, node: SchemaNode, path: string, verdict: Verdict): void {
  if (node.enum === undefined || node.enum.some((allowed) => equalJson(allowed, value))) return;
  const supported = node.enum.map((allowed) => (typeof allowed === 'string' ? allowed : goJson(allowed)));
  verdict.causes.push(notSupported(path === '' ? NO_FIELD : path, value, supported));
}

/** @param old the old value; the function does not validate an unchanged value again (ratcheting) */
function checkValue(value: unknown, node: SchemaNode, path: string, verdict: Verdict, old?: unknown): void {
  verdict.matches++;
  if (old !== undefined && isUntouched(value, old, node)) return;
  const before = verdict.causes.length;
  checkType(value, node, path, verdict);
  if (value === null || value === undefined) {
    if (node.enum !== undefined && !node.nullable) checkEnum(value, node, path, verdict);
    return;
  }
  if (node.combined) {
    checkCombinations(value, node, path, verdict);
  }
  if (typeof value === 'string') checkString(value, node, path, verdict);
  else if (isNumber(value)) checkNumber(value, node, path, verdict);
  else if (Array.isArray(value)) checkArray(value, node, path, verdict, old);
  if (node.enum !== undefined) checkEnum(value, node, path, verdict);
  if (isRecord(value)) checkObject(value, node, path, verdict, old);
  if (verdict.causes.length === before) verdict.matches++;
}

/** Validates types, limits, formats, required fields, enums and combinations. */
export function validateValue(value: unknown, node: SchemaNode, path = '', old?: unknown): StatusCause[] {
  const verdict: Verdict = { causes: [], matches: 0 };
  checkValue(value, node, path, verdict, old);
  return verdict.causes;
}
