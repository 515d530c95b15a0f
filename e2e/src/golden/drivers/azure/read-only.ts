import { isRecord } from '@mcm/kube';
import type { Rule } from '../expected.ts';
import type { RecordedRequest } from '../recording.ts';

/** The members of network resources that are read-only in the API of Azure. */
const READ_ONLY = new Set([
  'etag',
  'provisioningState',
  'purpose',
  'resourceGuid',
  'privateEndpoints',
  'ipConfigurations',
  'ipConfigurationProfiles',
  'resourceNavigationLinks',
  'serviceAssociationLinks',
]);

function writable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(writable);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).flatMap(([name, each]) => {
    if (READ_ONLY.has(name)) return [];
    const rest = writable(each);
    const isEmptied = name === 'properties' && isRecord(rest) && Object.keys(rest).length === 0;
    return isEmptied ? [] : [[name, rest] as const];
  });
  return Object.fromEntries(kept);
}

/** Converts the body of a PUT for a NIC or a VM to the form that Azure's SDK for JavaScript sends. */
function asSdkWrites(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asSdkWrites);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, each]) => [name, name === 'subnet' ? writable(each) : asSdkWrites(each)]),
  );
}

/** Removes the read-only members and the name of the resource from a request. */
function withoutReadOnly(request: RecordedRequest): RecordedRequest {
  const { method, path, body } = request;
  if (method !== 'PUT' || !isRecord(body) || !/\/(virtualMachines|networkInterfaces)\/[^/]+$/.test(path))
    return request;
  const { name: _, ...rest } = body;
  return { ...request, body: asSdkWrites(rest) };
}

export const readOnlyFields: Rule = {
  row: 'the driver does not send a field that only Azure sets',
  expect: (expected) => {
    const requests = expected.requests.map(withoutReadOnly);
    return requests.some((each, i) => each !== expected.requests[i]) ? { ...expected, requests } : undefined;
  },
};
