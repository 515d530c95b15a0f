import { isNumber } from '../objects/json-value.ts';
import type { StatusCause } from '../objects/status.ts';
import { duplicateValue, notFoundValue, portCauses } from './causes.ts';
import { forbiddenValue, invalidValue, requiredValue, tooLong, unsupportedValue } from './errors.ts';
import { qualifiedNameProblems, subdomainProblems } from './names.ts';

const PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;
const PATH_RULE = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

export const NOT_NEGATIVE = 'must be greater than or equal to 0';

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

  notFound(field: string, value: unknown, message = ''): void {
    this.causes.push(notFoundValue(field, value, message));
  }

  tooLong(field: string, limit: number): void {
    this.causes.push(tooLong(field, limit));
  }

  problems(field: string, value: unknown, problems: readonly string[]): void {
    for (const problem of problems) this.invalid(field, value, problem);
  }

  /** If `needed` is true, an empty value also causes an error. */
  oneOf(field: string, value: unknown, supported: readonly string[], needed = false): void {
    if (typeof value === 'string' && supported.includes(value)) return;
    if (needed && (value === '' || value === undefined)) this.required(field);
    else this.causes.push(unsupportedValue(field, value === undefined ? '' : value, supported));
  }

  notNegative(field: string, value: unknown): void {
    if (isNumber(value) && value < 0) this.invalid(field, value, NOT_NEGATIVE);
  }

  port(field: string, value: number): void {
    this.add(portCauses(field, value));
  }

  qualifiedName(field: string, value: string): void {
    this.problems(field, value, qualifiedNameProblems(value));
  }

  /** For an invalid name such as `example.dev/thing`, the error contains only the invalid part. */
  domainPath(field: string, name: string): void {
    if (name === '') {
      this.required(field);
      return;
    }
    const slash = name.indexOf('/');
    if (slash < 1 || slash === name.length - 1) {
      this.invalid(field, name, 'must be a domain-prefixed path (such as "acme.io/foo")');
      return;
    }
    const domain = name.slice(0, slash);
    const path = name.slice(slash + 1);
    this.problems(field, domain, subdomainProblems(domain));
    if (!PATH.test(path)) this.invalid(field, path, PATH_RULE);
  }
}
