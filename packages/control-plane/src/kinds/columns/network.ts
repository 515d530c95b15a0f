import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, strings, text } from '../../apimachinery/objects/plain.ts';
import { AGE, column, NAME, NONE, shownFirst, shownSelector, textAt } from './column.ts';

const UNSET = '<unset>';
const MOST = 3;

function ingressHosts(ingress: ApiObject): string {
  const hosts = items(look(ingress, 'spec'), 'rules')
    .map((rule) => text(rule, 'host'))
    .filter((host) => host !== '');
  return hosts.length === 0 ? '*' : shownFirst(hosts, MOST);
}

const ingressAddress = (ingress: ApiObject): string =>
  items(look(ingress, 'status', 'loadBalancer'), 'ingress')
    .map((one) => text(one, 'ip') || text(one, 'hostname'))
    .filter((address) => address !== '')
    .join(',');

export const ingressColumns: readonly PrinterColumn[] = [
  NAME,
  column('Class', (ingress) => textAt(ingress, 'spec.ingressClassName', NONE), {
    doc: 'The name of the IngressClass resource that should be used for additional configuration',
  }),
  column('Hosts', ingressHosts, { doc: 'Hosts that incoming requests are matched against before the ingress rule' }),
  column('Address', ingressAddress, { doc: 'Address is a list containing ingress points for the load-balancer' }),
  column('Ports', (ingress) => (items(look(ingress, 'spec'), 'tls').length > 0 ? '80, 443' : '80'), {
    doc: 'Ports of TLS configurations that open',
  }),
  AGE,
];

function parametersOf(ingressClass: ApiObject): string {
  const { parameters } = look(ingressClass, 'spec');
  if (parameters === undefined) return NONE;
  const group = text(parameters, 'apiGroup');
  return `${text(parameters, 'kind')}${group === '' ? '' : `.${group}`}/${text(parameters, 'name')}`;
}

export const ingressClassColumns: readonly PrinterColumn[] = [
  NAME,
  column('Controller', (object) => textAt(object, 'spec.controller'), {
    doc: 'Controller that is responsible for handling this class',
  }),
  column('Parameters', parametersOf, { doc: 'A reference to a resource with additional parameters' }),
  AGE,
];

export const networkPolicyColumns: readonly PrinterColumn[] = [
  NAME,
  column('Pod-Selector', (policy) => shownSelector(look(policy, 'spec').podSelector), {
    doc: "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network policies can select the same set of pods. In this case, the ingress rules for each are combined additively. This field is optional. If it is not specified, it defaults to an empty selector.",
  }),
  AGE,
];

function slicePorts(slice: ApiObject): string {
  const ports = items(slice, 'ports').map((port) => String(number(port, 'port') ?? (text(port, 'name') || '*')));
  return ports.length === 0 ? UNSET : shownFirst(ports, MOST);
}

function sliceAddresses(slice: ApiObject): string {
  const addresses = items(slice, 'endpoints').flatMap((endpoint) => strings(endpoint, 'addresses'));
  return addresses.length === 0 ? UNSET : shownFirst(addresses, MOST);
}

export const endpointSliceColumns: readonly PrinterColumn[] = [
  NAME,
  column('AddressType', (slice) => text(slice, 'addressType'), { doc: ['V1EndpointSlice', 'addressType'] }),
  column('Ports', slicePorts, { doc: ['V1EndpointSlice', 'ports'] }),
  column('Endpoints', sliceAddresses, { doc: ['V1EndpointSlice', 'endpoints'] }),
  AGE,
];

export const serviceCidrColumns: readonly PrinterColumn[] = [
  NAME,
  column('CIDRs', (object) => strings(look(object, 'spec'), 'cidrs').join(','), {
    doc: ['V1ServiceCIDRSpec', 'cidrs'],
  }),
  AGE,
];

/** Formats the parent reference of an IPAddress, such as `services/default/web`. */
const parentOf = (object: ApiObject): string => {
  const { parentRef: parent } = look(object, 'spec');
  if (parent === undefined) return NONE;
  const [group, resource] = [text(parent, 'group'), text(parent, 'resource')];
  const namespace = text(parent, 'namespace');
  const kind = group === '' ? resource : `${resource}.${group}`;
  return [kind.toLowerCase(), ...(namespace === '' ? [] : [namespace]), text(parent, 'name')].join('/');
};

export const ipAddressColumns: readonly PrinterColumn[] = [
  NAME,
  column('ParentRef', parentOf, { doc: ['V1IPAddressSpec', 'parentRef'] }),
  { ...AGE, hidden: true },
];
