import { unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { child, items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { cidrProblems, cidrWarnings, isWithin, parseCidr } from '../base/addresses.ts';
import { portNameProblems } from '../base/formats.ts';
import { selectorCauses } from '../base/selector.ts';
import { strategy } from '../base/strategy.ts';

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];
const TYPES = ['Ingress', 'Egress'];

function portFindings(findings: Findings, { protocol, port, endPort }: Plain, at: string): void {
  if (protocol !== undefined) findings.oneOf(`${at}.protocol`, protocol, PROTOCOLS);
  if (port === undefined) {
    if (endPort !== undefined)
      findings.invalid(`${at}.endPort`, endPort, 'may not be specified when `port` is not specified');
  } else if (typeof port === 'number') {
    findings.port(`${at}.port`, port);
    if (typeof endPort !== 'number') return;
    if (endPort < port) findings.invalid(`${at}.endPort`, port, 'must be greater than or equal to `port`');
    findings.port(`${at}.endPort`, endPort);
  } else {
    if (endPort !== undefined)
      findings.invalid(`${at}.endPort`, endPort, 'may not be specified when `port` is non-numeric');
    findings.problems(`${at}.port`, port, portNameProblems(String(port)));
  }
}

/** An update validates only IP ranges that the old object does not contain. */
function blockFindings(findings: Findings, block: Plain, at: string, known: ReadonlySet<string>): void {
  const cidr = text(block, 'cidr');
  if (cidr === '') {
    findings.required(`${at}.cidr`);
    return;
  }
  const problems = (range: string): string[] => (known.has(range) ? [] : cidrProblems(range));
  findings.problems(`${at}.cidr`, cidr, problems(cidr));
  const outer = parseCidr(cidr);
  if (outer === undefined) return;
  for (const [index, except] of strings(block, 'except').entries()) {
    findings.problems(`${at}.except[${index}]`, except, problems(except));
    const inner = parseCidr(except);
    if (inner === undefined || isWithin(inner, outer)) continue;
    findings.invalid(`${at}.except[${index}]`, except, 'must be a strict subset of `cidr`');
  }
}

function peerFindings(findings: Findings, peer: Plain, at: string, known: ReadonlySet<string>): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  if (podSelector !== undefined) findings.add(selectorCauses(podSelector, `${at}.podSelector`));
  if (namespaceSelector !== undefined) findings.add(selectorCauses(namespaceSelector, `${at}.namespaceSelector`));
  if (ipBlock !== undefined) blockFindings(findings, look(peer, 'ipBlock'), `${at}.ipBlock`, known);
  const given = [podSelector, namespaceSelector, ipBlock].filter((one) => one !== undefined).length;
  if (given === 0) findings.required(at, 'must specify a peer');
  else if (given > 1 && ipBlock !== undefined) findings.forbidden(at, 'may not specify both ipBlock and another peer');
}

const DIRECTIONS = [
  ['ingress', 'from'],
  ['egress', 'to'],
] as const;

function* blocksOf(policy: ApiObject): Generator<{ block: Plain; at: string }> {
  for (const [direction, peers] of DIRECTIONS) {
    for (const [index, rule] of items(look(policy, 'spec'), direction).entries()) {
      for (const [position, peer] of items(rule, peers).entries()) {
        if (peer.ipBlock === undefined) continue;
        yield { block: look(peer, 'ipBlock'), at: `spec.${direction}[${index}].${peers}[${position}].ipBlock` };
      }
    }
  }
}

function policyCauses(policy: ApiObject, known: ReadonlySet<string>): StatusCause[] {
  const findings = new Findings();
  const spec = look(policy, 'spec');
  findings.add(selectorCauses(spec.podSelector, 'spec.podSelector'));
  for (const [direction, peers] of DIRECTIONS) {
    for (const [index, rule] of items(spec, direction).entries()) {
      const at = `spec.${direction}[${index}]`;
      for (const [position, port] of items(rule, 'ports').entries())
        portFindings(findings, port, `${at}.ports[${position}]`);
      for (const [position, peer] of items(rule, peers).entries()) {
        peerFindings(findings, peer, `${at}.${peers}[${position}]`, known);
      }
    }
  }
  const types = strings(spec, 'policyTypes');
  if (types.length > TYPES.length) {
    findings.invalid('spec.policyTypes', types, 'may not specify more than two policyTypes');
    return findings.causes;
  }
  for (const [index, type] of types.entries()) {
    if (!TYPES.includes(type)) findings.add([unsupportedValue(`spec.policyTypes[${index}]`, type, TYPES)]);
  }
  return findings.causes;
}

const rangesIn = (policy: ApiObject): Set<string> =>
  new Set([...blocksOf(policy)].flatMap(({ block }) => [text(block, 'cidr'), ...strings(block, 'except')]));

/**
 * Every NetworkPolicy applies to incoming traffic. A NetworkPolicy with egress rules also applies to outgoing traffic.
 * The default protocol of a NetworkPolicy is TCP (`ValidateNetworkPolicy`).
 */
export const networkPolicyStrategy = {
  ...strategy({
    setDefaults(object) {
      const spec = child(object, 'spec');
      for (const rule of [...items(spec, 'ingress'), ...items(spec, 'egress')]) {
        for (const port of items(rule, 'ports')) port.protocol ??= 'TCP';
      }
      if (Array.isArray(spec.policyTypes) && spec.policyTypes.length > 0) return;
      spec.policyTypes = items(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
    },
  }),
  validate: (policy: ApiObject): StatusCause[] => policyCauses(policy, new Set()),
  validateUpdate: (policy: ApiObject, old: ApiObject): StatusCause[] => policyCauses(policy, rangesIn(old)),
  warnings: (policy: ApiObject): string[] =>
    [...blocksOf(policy)].flatMap(({ block, at }) => [
      ...cidrWarnings(`${at}.cidr`, text(block, 'cidr')),
      ...strings(block, 'except').flatMap((except, index) => cidrWarnings(`${at}.except[${index}]`, except)),
    ]),
};
