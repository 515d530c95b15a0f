import { isNumber } from '../../apimachinery/objects/json-value.ts';
/** The functions in this file return the error texts of kube-apiserver. */

export function portNameProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 15) problems.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(name)) {
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(name)) problems.push('must contain at least one letter (a-z)');
  if (name.includes('--')) problems.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

export const headerNameProblems = (name: string): string[] =>
  /^[-A-Za-z0-9]+$/.test(name)
    ? []
    : [
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      ];

/** The name of an environment variable may contain all printable ASCII characters except `=`. */
export function environmentNameProblems(name: string): string[] {
  return /^[\x20-\x3c\x3e-\x7e]*$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function serviceNameProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 63) problems.push('must be no more than 63 characters');
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
    problems.push(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    );
  }
  return problems;
}

const USER_ID = 2_147_483_647;

export const userIdProblems = (id: unknown): string[] =>
  isNumber(id) && (id < 0 || id > USER_ID) ? [`must be between 0 and ${USER_ID}, inclusive`] : [];

export function descendingPathProblems(path: string): string[] {
  return [...(path.startsWith('/') ? ['must be a relative path'] : []), ...backstepProblems(path)];
}

export const backstepProblems = (path: string): string[] =>
  path.split('/').includes('..') ? ["must not contain '..'"] : [];

/** Names that start with `..` are reserved. */
export function volumePathProblems(path: string): string[] {
  const problems = descendingPathProblems(path);
  if (path.startsWith('..') && !path.startsWith('../')) problems.push("must not start with '..'");
  return problems;
}

const UNDERSCORE_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";

export function searchDomainProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 253) problems.push('must be no more than 253 characters');
  if (!/^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/.test(name)) {
    problems.push(UNDERSCORE_RULE);
  }
  return problems;
}
