import { forbiddenValue, invalidValue, requiredValue, tooLong, unsupportedValue } from '../registry/errors.ts';
import { qualifiedNameProblems } from '../registry/names.ts';
import type { StatusCause } from '../status.ts';
import { duplicateValue, notFoundValue, portCauses } from './causes.ts';

export const NOT_NEGATIVE = 'must be greater than or equal to 0';

/** Collects the causes of one object, in the order in which its rules are gone through. */
export class Findings {
  readonly causes: StatusCause[] = [];

  add(causes: readonly StatusCause[]): void {
    this.causes.push(...causes);
  }

  required(field: string, message = ''): void {
    this.causes.push(requiredValue(field, message));
  }

  invalid(field: string, value: unknown, message: string): void {
    this.causes.push(invalidValue(field, value, message));
  }

  forbidden(field: string, message: string): void {
    this.causes.push(forbiddenValue(field, message));
  }

  duplicate(field: string, value: unknown): void {
    this.causes.push(duplicateValue(field, value));
  }

  notFound(field: string, value: unknown): void {
    this.causes.push(notFoundValue(field, value));
  }

  tooLong(field: string, limit: number): void {
    this.causes.push(tooLong(field, limit));
  }

  /** Several problems of one value. */
  problems(field: string, value: unknown, problems: readonly string[]): void {
    for (const problem of problems) this.invalid(field, value, problem);
  }

  /** A value that must be one of these. `needed`: an empty one is told as missing. */
  oneOf(field: string, value: unknown, supported: readonly string[], needed = false): void {
    if (typeof value === 'string' && supported.includes(value)) return;
    if (needed && (value === '' || value === undefined)) this.required(field);
    else this.causes.push(unsupportedValue(field, value === undefined ? '' : value, supported));
  }

  /** A number of zero or more, where there is one. */
  notNegative(field: string, value: unknown): void {
    if (typeof value === 'number' && value < 0) this.invalid(field, value, NOT_NEGATIVE);
  }

  port(field: string, value: number): void {
    this.add(portCauses(field, value));
  }

  qualifiedName(field: string, value: string): void {
    this.problems(field, value, qualifiedNameProblems(value));
  }
}
