import type { Findings } from '../../apimachinery/errors/findings.ts';
import { look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { formatQuantity, quantityNanos, quantityValue } from '../../apimachinery/objects/quantity.ts';
import { isTooLong, uniqueFindings } from './checks.ts';

const MOST_OPTIONS = 10;

const sum = (a: string, b: string): string =>
  formatQuantity({ nanos: quantityNanos(a) + quantityNanos(b), format: /[A-Z]i$/.test(a) ? 'binary' : 'decimal' });

const isMore = (a: string, b: string): boolean => quantityNanos(a) > quantityNanos(b);

function optionFindings(findings: Findings, capacity: string, policy: Plain, at: string): void {
  const options = strings(policy, 'validValues');
  const standard = text(policy, 'default');
  for (const [index, option] of options.entries()) {
    const previous = options[index - 1];
    if (previous !== undefined && isMore(previous, option))
      findings.invalid(`${at}[${index}]`, option, 'values must be sorted in ascending order');
  }
  if (isTooLong(findings, options, MOST_OPTIONS, at)) return;
  for (const [index, option] of options.entries()) {
    if (isMore(option, capacity))
      findings.invalid(`${at}[${index}]`, option, `option is larger than capacity value: ${capacity}`);
  }
  uniqueFindings(
    findings,
    options.map((option) => String(quantityValue(option))),
    at,
  );
  if (!options.some((option) => quantityNanos(option) === quantityNanos(standard)))
    findings.invalid(at, standard, 'default value is not valid according to the requestPolicy');
}

function stepFindings(findings: Findings, value: string, min: string, step: string, at: string): void {
  const size = quantityValue(step);
  if (size !== 0n && (quantityValue(value) - quantityValue(min)) % size === 0n) return;
  findings.invalid(at, value, `value is not a multiple of a given step (${step}) from (${min})`);
}

function rangeFindings(findings: Findings, capacity: string, policy: Plain, at: string): void {
  const range = look(policy, 'validRange');
  const standard = text(policy, 'default');
  const [min, max, step] = ['min', 'max', 'step'].map((field) => text(range, field));
  if (min === undefined || min === '') {
    findings.required(`${at}.min`, 'required when validRange is defined');
    return;
  }
  if (isMore(min, capacity)) findings.invalid(`${at}.min`, min, `min is larger than capacity value: ${capacity}`);
  if (isMore(min, standard)) findings.invalid(`${at}.min`, standard, `default is less than min: ${min}`);
  if (max !== undefined && max !== '') {
    if (isMore(min, max)) findings.invalid(`${at}.max`, min, `min is larger than max: ${max}`);
    if (isMore(max, capacity)) findings.invalid(`${at}.max`, max, `max is larger than capacity value: ${capacity}`);
    if (isMore(standard, max)) findings.invalid(`${at}.max`, standard, `default is more than max: ${max}`);
  }
  if (step === undefined || step === '') return;
  const first = sum(min, step);
  if (isMore(first, capacity))
    findings.invalid(`${at}.step`, step, `one step ${first} is larger than capacity value: ${capacity}`);
  stepFindings(findings, standard, min, step, `${at}.step`);
  if (max !== undefined && max !== '') stepFindings(findings, max, min, step, `${at}.step`);
}

/** Validates the policy that limits how much of a capacity a claim may request (`validateRequestPolicy`). */
export function policyFindings(findings: Findings, capacity: Plain, at: string): void {
  const policy = look(capacity, 'requestPolicy');
  const [hasOptions, hasRange] = [strings(policy, 'validValues').length > 0, policy.validRange !== undefined];
  if (hasOptions && hasRange) {
    const rule = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    findings.forbidden(at, rule);
    return;
  }
  if (!hasOptions && !hasRange) return;
  const field = hasOptions ? 'validValues' : 'validRange';
  if (text(policy, 'default') === '') findings.required(`${at}.default`, `required when ${field} is defined`);
  else if (hasOptions) optionFindings(findings, text(capacity, 'value'), policy, `${at}.validValues`);
  else rangeFindings(findings, text(capacity, 'value'), policy, `${at}.validRange`);
}
