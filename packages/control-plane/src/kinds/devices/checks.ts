import { tooMany } from '../../apimachinery/errors/causes.ts';
import type { Findings } from '../../apimachinery/errors/findings.ts';
import {
  labelProblems,
  labelValueProblems,
  qualifiedNameProblems,
  subdomainProblems,
} from '../../apimachinery/errors/names.ts';
import { stringifyJson } from '../../apimachinery/objects/json.ts';
import { isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { compileCel, type Declaration } from '../../schema/cel/compile.ts';
import { CelCompileError } from '../../schema/cel/syntax/ast.ts';
import { DYN, printType } from '../../schema/cel/types/types.ts';
import { driverFindings } from '../pod/rules/volume-sources.ts';

const MOST_SELECTORS = 32;
const LONGEST_EXPRESSION = 10 * 1024;
const LONGEST_PARAMETERS = 10 * 1024;
const LONGEST_ID = 32;
const LONGEST_POOL = 253;
const DEVICE: readonly Declaration[] = [{ name: 'device', type: DYN }];
const EFFECTS = ['NoExecute', 'NoSchedule', 'None'];
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const IDENTIFIER_RULE =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An integer beyond 2^53 is a bigint. */
export const integer = (holder: Plain, field: string): number | bigint => {
  const value = holder[field];
  return isNumber(value) ? value : 0;
};

/** If a list has too many items, the function does not validate the items. */
export function isTooLong(findings: Findings, list: readonly unknown[], most: number, at: string): boolean {
  if (list.length <= most) return false;
  findings.add([tooMany(at, list.length, most)]);
  return true;
}

export function uniqueFindings(findings: Findings, keys: readonly string[], at: string): void {
  for (const [index, key] of keys.entries()) if (keys.indexOf(key) < index) findings.duplicate(`${at}[${index}]`, key);
}

export const labelFindings = (findings: Findings, name: string, at: string): void =>
  findings.problems(at, name, labelProblems(name));

export function classNameFindings(findings: Findings, name: string, at: string): void {
  if (name === '') findings.required(at);
  else findings.problems(at, name, subdomainProblems(name));
}

export function poolNameFindings(findings: Findings, name: string, at: string): void {
  if (name === '') {
    findings.required(at);
    return;
  }
  if (name.length > LONGEST_POOL) findings.tooLong(at, LONGEST_POOL);
  for (const part of name.split('/')) findings.problems(at, part, subdomainProblems(part));
}

export function uidFindings(findings: Findings, uid: string, at: string): void {
  if (UID.test(uid)) return;
  const rule =
    'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';
  findings.invalid(at, uid, rule);
}

function identifierFindings(findings: Findings, id: string, at: string): void {
  if (id.length > LONGEST_ID) findings.tooLong(at, LONGEST_ID);
  if (!IDENTIFIER.test(id)) findings.invalid(at, id, IDENTIFIER_RULE);
}

/** Validates the name of an attribute or a capacity: an identifier, with or without a domain. */
export function attributeNameFindings(findings: Findings, name: string, at: string): void {
  const [first = '', second, more] = name.split('/');
  if (second === undefined) identifierFindings(findings, first, at);
  else if (more === undefined) {
    if (first === '') findings.invalid(at, '', 'the domain must not be empty');
    else driverFindings(findings, first, at);
    if (second === '') findings.invalid(at, '', 'the name must not be empty');
    else identifierFindings(findings, second, at);
  }
}

export function fullNameFindings(findings: Findings, name: string, at: string): void {
  attributeNameFindings(findings, name, at);
  const rule = 'a fully qualified name must be a domain and a name separated by a slash';
  if (!name.includes('/')) findings.invalid(at, name, rule);
}

function expressionFindings(findings: Findings, source: string, at: string): void {
  if (source.length > LONGEST_EXPRESSION) {
    findings.tooLong(at, LONGEST_EXPRESSION);
    return;
  }
  try {
    const { type } = compileCel(source, DEVICE);
    if (type.kind !== 'bool' && type.kind !== 'dyn')
      findings.invalid(at, source, `must evaluate to bool or the unknown type, not ${printType(type)}`);
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    findings.invalid(at, source, `compilation failed: ${error.message}`);
  }
}

export function selectorsFindings(findings: Findings, holder: Plain, at: string): void {
  const selectors = items(holder, 'selectors');
  if (isTooLong(findings, selectors, MOST_SELECTORS, at)) return;
  for (const [index, selector] of selectors.entries()) {
    const here = `${at}[${index}].cel`;
    if (selector.cel === undefined) findings.required(here);
    else expressionFindings(findings, text(selector.cel, 'expression'), `${here}.expression`);
  }
}

/** Validates the data for a driver: a JSON object of limited size. */
export function rawFindings(findings: Findings, data: unknown, at: string, isStored = false): void {
  if (data === undefined || data === null) findings.required(at);
  else if (!isStored && Buffer.byteLength(stringifyJson(data)) > LONGEST_PARAMETERS)
    findings.tooLong(at, LONGEST_PARAMETERS);
  else if (!isRecord(data)) findings.invalid(at, '<value omitted>', 'must be a valid JSON object');
}

/** @param isStored Whether the stored object contains the same configuration. */
export function configurationFindings(findings: Findings, config: Plain, at: string, isStored = false): void {
  const here = `${at}.opaque`;
  if (config.opaque === undefined) {
    findings.required(here);
    return;
  }
  const { parameters } = look(config, 'opaque');
  driverFindings(findings, text(config.opaque, 'driver'), `${here}.driver`);
  rawFindings(findings, parameters, `${here}.parameters`, isStored);
}

function effectFindings(findings: Findings, effect: string, at: string): void {
  if (effect !== '') findings.oneOf(at, effect, EFFECTS);
}

export function tolerationFindings(findings: Findings, toleration: Plain, at: string): void {
  const key = text(toleration, 'key');
  const [operator, value] = [text(toleration, 'operator'), text(toleration, 'value')];
  if (key !== '') findings.qualifiedName(`${at}.key`, key);
  if (operator === 'Exists') {
    if (value !== '') findings.invalid(`${at}.value`, value, 'must be empty for operator `Exists`');
  } else if (operator === 'Equal') findings.problems(`${at}.value`, value, labelValueProblems(value));
  else findings.oneOf(`${at}.operator`, operator, ['Equal', 'Exists'], true);
  effectFindings(findings, text(toleration, 'effect'), `${at}.effect`);
}

export function taintFindings(findings: Findings, taint: Plain, at: string): void {
  findings.qualifiedName(`${at}.key`, text(taint, 'key'));
  const value = text(taint, 'value');
  if (value !== '') findings.problems(`${at}.value`, value, labelValueProblems(value));
  const effect = text(taint, 'effect');
  if (effect === '') findings.required(`${at}.effect`);
  else effectFindings(findings, effect, `${at}.effect`);
}

const MOST_CONDITIONS = 4;

/**
 * Validates two lists of conditions: conditions that a pod needs before its binding, and conditions that prevent the
 * binding.
 */
export function bindingFindings(findings: Findings, holder: Plain, at: string): void {
  const [conditions, failures] = [strings(holder, 'bindingConditions'), strings(holder, 'bindingFailureConditions')];
  const lists = [
    { list: conditions, here: `${at}.bindingConditions` },
    { list: failures, here: `${at}.bindingFailureConditions` },
  ];
  for (const { list, here } of lists) {
    if (isTooLong(findings, list, MOST_CONDITIONS, here)) continue;
    for (const [index, name] of list.entries())
      findings.problems(`${here}[${index}]`, name, qualifiedNameProblems(name));
  }
  for (const { list, here } of lists) uniqueFindings(findings, list, here);
  for (const [index, name] of failures.entries()) {
    const overlap = 'bindingFailureConditions must not overlap with bindingConditions';
    if (conditions.includes(name)) findings.invalid(`${at}.bindingFailureConditions[${index}]`, name, overlap);
  }
  if (conditions.length === 0 && failures.length > 0) {
    const rule = 'bindingConditions are required to use bindingFailureConditions';
    findings.invalid(`${at}.bindingConditions`, holder.bindingConditions ?? null, rule);
  }
  if (failures.length === 0 && conditions.length > 0) {
    const rule = 'bindingFailureConditions are required to use bindingConditions';
    findings.invalid(`${at}.bindingFailureConditions`, holder.bindingFailureConditions ?? null, rule);
  }
}
