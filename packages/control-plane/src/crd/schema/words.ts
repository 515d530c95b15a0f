/** Patterns for names, and error texts about invalid names, as in `k8s.io/apimachinery`. */

const DNS1035 = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS1123_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS1123_SUBDOMAIN = new RegExp(`^${DNS1123_LABEL}(\\.${DNS1123_LABEL})*$`);

const LABEL_WORDS =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_WORDS = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${DNS1123_LABEL}(\\.${DNS1123_LABEL})*')`;

export function labelProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 63) problems.push('must be no more than 63 bytes');
  if (!DNS1035.test(name)) problems.push(LABEL_WORDS);
  return problems;
}

export function subdomainProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 253) problems.push('must be no more than 253 bytes');
  if (!DNS1123_SUBDOMAIN.test(name)) problems.push(SUBDOMAIN_WORDS);
  return problems;
}
