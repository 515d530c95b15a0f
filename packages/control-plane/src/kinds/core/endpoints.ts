import { isIP } from 'node:net';
import { invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, labelValueProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { tooMany } from '../../apimachinery/errors/schema-causes.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain, preset, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { ipProblems, strictIpProblems } from '../base/addresses.ts';
import { type Strategy, strategy } from '../base/strategy.ts';

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

/** Returns the error for an address that an endpoint cannot have. */
function specialProblem(address: string): string | undefined {
  if (address === '0.0.0.0' || address === '::') return `may not be unspecified (${address})`;
  if (address.startsWith('127.') || address === '::1') return 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
  if (address.startsWith('169.254.') || /^fe[89ab]/i.test(address)) {
    return 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
  }
  if (/^224\.0\.0\./.test(address) || /^ff02:/i.test(address)) {
    return 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
  }
  return undefined;
}

function special(findings: Findings, at: string, address: string): void {
  if (isIP(address) === 0) {
    findings.invalid(at, address, 'must be a valid IP address');
    return;
  }
  const problem = specialProblem(address);
  if (problem !== undefined) findings.invalid(at, address, problem);
}

function addressFindings(findings: Findings, address: Plain, at: string): void {
  const ip = text(address, 'ip');
  findings.problems(`${at}.ip`, ip, ipProblems(ip));
  const hostname = text(address, 'hostname');
  if (hostname !== '') findings.problems(`${at}.hostname`, hostname, labelProblems(hostname));
  const node = address.nodeName;
  if (typeof node === 'string') findings.problems(`${at}.nodeName`, node, subdomainProblems(node));
  special(findings, `${at}.ip`, ip);
}

function endpointsCauses(endpoints: ApiObject): StatusCause[] {
  const findings = new Findings();
  for (const [index, subset] of items(endpoints, 'subsets').entries()) {
    const at = `subsets[${index}]`;
    const lists = ['addresses', 'notReadyAddresses'].map((list) => [list, items(subset, list)] as const);
    if (lists.every(([, list]) => list.length === 0)) {
      findings.required(at, 'must specify `addresses` or `notReadyAddresses`');
    }
    for (const [list, addresses] of lists) {
      for (const [position, address] of addresses.entries()) {
        addressFindings(findings, address, `${at}.${list}[${position}]`);
      }
    }
    const ports = items(subset, 'ports');
    for (const [position, port] of ports.entries()) {
      const here = `${at}.ports[${position}]`;
      const name = text(port, 'name');
      if (name === '') {
        if (ports.length > 1) findings.required(`${here}.name`);
      } else findings.problems(`${here}.name`, name, labelProblems(name));
      findings.port(`${here}.port`, number(port, 'port') ?? 0);
      findings.oneOf(`${here}.protocol`, port.protocol, PROTOCOLS, true);
      if (typeof port.appProtocol === 'string') findings.qualifiedName(`${here}.appProtocol`, port.appProtocol);
    }
  }
  return findings.causes;
}

export const endpointsStrategy = strategy({
  setDefaults(endpoints) {
    for (const subset of items(endpoints, 'subsets')) {
      for (const port of items(subset, 'ports')) preset(port, 'protocol', 'TCP');
    }
  },
  causes: endpointsCauses,
});

const TYPES = ['FQDN', 'IPv4', 'IPv6'];

/** Validates a domain name with at least two labels (`IsFullyQualifiedDomainName`). */
function domainFindings(findings: Findings, address: string, at: string): void {
  const name = address.replace(/\.$/, '');
  if (address === '') findings.required(at);
  else if (subdomainProblems(name).length > 0) findings.invalid(at, name, subdomainProblems(name).join(','));
  else if (!name.includes('.')) {
    findings.invalid(at, name, 'should be a domain with at least two segments separated by dots');
  } else {
    const label = name.split('.').find((one) => labelProblems(one).length > 0);
    if (label !== undefined) findings.invalid(at, label, labelProblems(label).join(','));
  }
}

function sliceAddress(findings: Findings, address: string, type: string, at: string): void {
  // The function does not validate addresses of an unknown type.
  if (!TYPES.includes(type)) return;
  if (type === 'FQDN') {
    domainFindings(findings, address, at);
    return;
  }
  const problems = ipProblems(address);
  findings.problems(at, address, problems);
  if (problems.length > 0) return;
  if (type === 'IPv4' && isIP(address) !== 4) findings.invalid(at, address, 'must be an IPv4 address');
  if (type === 'IPv6' && isIP(address) !== 6) findings.invalid(at, address, 'must be an IPv6 address');
  const problem = specialProblem(address);
  if (problem !== undefined) findings.invalid(at, address, problem);
  // In an EndpointSlice, addresses must be in canonical form.
  findings.problems(at, address, strictIpProblems(address));
}

const MAX_HINTS = 8;

/** Validates the hints of an endpoint. */
function hintFindings(
  findings: Findings,
  endpoint: Plain,
  at: string,
  list: string,
  problems: (name: string) => readonly string[],
): boolean {
  const hints = items(look(endpoint, 'hints'), list);
  if (hints.length > MAX_HINTS) {
    findings.add([tooMany(`${at}.${list}`, hints.length, MAX_HINTS)]);
    return false;
  }
  const seen = new Set<string>();
  for (const [index, hint] of hints.entries()) {
    const name = text(hint, 'name');
    const here = `${at}.${list}[${index}].name`;
    if (seen.has(name)) findings.duplicate(here, name);
    findings.problems(here, name, problems(name));
    seen.add(name);
  }
  return true;
}

function sliceEndpoint(findings: Findings, endpoint: Plain, type: string, at: string): void {
  const addresses = strings(endpoint, 'addresses');
  if (addresses.length === 0) findings.required(`${at}.addresses`, 'must contain at least 1 address');
  for (const [index, address] of addresses.entries()) {
    sliceAddress(findings, address, type, `${at}.addresses[${index}]`);
  }
  const { nodeName, hostname } = endpoint;
  if (typeof nodeName === 'string') findings.problems(`${at}.nodeName`, nodeName, subdomainProblems(nodeName));
  if (hintFindings(findings, endpoint, `${at}.hints`, 'forZones', labelValueProblems)) {
    hintFindings(findings, endpoint, `${at}.hints`, 'forNodes', subdomainProblems);
  }
  if (typeof hostname === 'string') findings.problems(`${at}.hostname`, hostname, labelProblems(hostname));
}

function sliceCauses(slice: ApiObject, old?: ApiObject): StatusCause[] {
  const findings = new Findings();
  const type = text(slice, 'addressType');
  findings.oneOf('addressType', type, TYPES, true);
  const isKnown = old !== undefined && jsonEquals(slice.endpoints, old.endpoints);
  for (const [index, endpoint] of isKnown ? [] : items(slice, 'endpoints').entries()) {
    sliceEndpoint(findings, endpoint, type, `endpoints[${index}]`);
  }
  const names = new Set<string>();
  for (const [index, port] of items(slice, 'ports').entries()) {
    const at = `ports[${index}]`;
    const name = text(port, 'name');
    if (name !== '') findings.problems(`${at}.name`, name, labelProblems(name));
    if (names.has(name)) findings.duplicate(`${at}.name`, name);
    names.add(name);
    findings.oneOf(`${at}.protocol`, port.protocol, PROTOCOLS);
    const { appProtocol } = port;
    if (typeof appProtocol === 'string') findings.qualifiedName(`${at}.appProtocol`, appProtocol);
  }
  return findings.causes;
}

export const endpointSliceStrategy: Strategy = {
  setDefaults(slice) {
    for (const port of items(slice, 'ports')) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  prepareForCreate: (slice) => dropTopology(slice),
  prepareForUpdate(slice, old) {
    if (!jsonEquals(slice.endpoints, old.endpoints)) dropTopology(slice);
  },
  validate: (slice) => sliceCauses(slice),
  validateUpdate(slice, old) {
    const causes = sliceCauses(slice, old);
    if (jsonEquals(slice.addressType, old.addressType)) return causes;
    return [...causes, invalidValue('addressType', slice.addressType, 'field is immutable')];
  },
};

function dropTopology(slice: ApiObject): void {
  for (const endpoint of items(slice, 'endpoints')) delete endpoint.deprecatedTopology;
}
