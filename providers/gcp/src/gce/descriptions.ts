/** The API methods that the driver uses. */
export const METHODS: Readonly<Record<string, readonly string[]>> = {
  Instances: [
    'Insert',
    'Get',
    'List',
    'Delete',
    'Stop',
    'Start',
    'Suspend',
    'Resume',
    'SetLabels',
    'GetSerialPortOutput',
  ],
  ZoneOperations: ['Get'],
};

/** A service, a message or an enum in the JSON format of protobufjs. */
export interface Description {
  readonly fields?: Readonly<Record<string, { readonly type: string }>>;
  readonly nested?: Readonly<Record<string, Description>>;
  readonly methods?: Readonly<Record<string, { readonly requestType: string; readonly responseType: string }>>;
}

const PATH = ['google', 'cloud', 'compute', 'v1'];
const PREFIX = /^\.?google\.cloud\.compute\.v1\./;

/**
 * Fields that get a wider type. The original sends large numbers unchanged, but the SDK would change them without an
 * error.
 */
const WIDER: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AcceleratorConfig: { acceleratorCount: 'double' },
};

function widened(name: string, description: Description): Description {
  const changes = Object.entries(WIDER[name] ?? {}).map(([field, type]) => {
    const known = description.fields?.[field];
    if (!known) throw new Error(`Google's SDK does not describe ${name}.${field} any more`);
    return [field, { ...known, type }] as const;
  });
  if (changes.length === 0) return description;
  return { ...description, fields: { ...description.fields, ...Object.fromEntries(changes) } };
}

/**
 * Reduces the descriptions of the API to the methods that the driver uses. The complete descriptions would need about a
 * second of CPU time and 80 MB.
 * @throws Error if the SDK no longer describes one of the methods
 */
export function slimDescriptions(all: Description): Description {
  const v1 = PATH.reduce<Description | undefined>((each, name) => each?.nested?.[name], all);
  const kept: Record<string, Description> = {};
  const keep = (type: string): void => {
    const name = type.replace(PREFIX, '').split('.')[0] ?? '';
    const found = v1?.nested?.[name];
    if (!found || name in kept) return;
    kept[name] = widened(name, found);
    walk(found);
  };
  const walk = ({ fields = {}, nested = {} }: Description): void => {
    for (const { type } of Object.values(fields)) keep(type);
    for (const each of Object.values(nested)) walk(each);
  };
  for (const [service, names] of Object.entries(METHODS)) {
    const described = v1?.nested?.[service];
    const methods = Object.fromEntries(
      names.map((name) => {
        const method = described?.methods?.[name];
        if (!method) throw new Error(`Google's SDK no longer describes ${service}.${name}`);
        return [name, method];
      }),
    );
    for (const { requestType, responseType } of Object.values(methods)) [requestType, responseType].forEach(keep);
    kept[service] = { ...described, methods };
  }
  const compute = PATH.slice(1).reduceRight<Description>((inner, name) => ({ nested: { [name]: inner } }), {
    ...v1,
    nested: kept,
  });
  const any = all.nested?.google?.nested?.protobuf?.nested?.Any;
  const protobuf = any ? { protobuf: { nested: { Any: any } } } : {};
  return { ...all, nested: { google: { nested: { ...protobuf, ...compute.nested } } } };
}
