import type { MachineClass } from '@mcm/api';
import { type DecodedInput, type DriverInput, MachineError, readGoJson, specTypeProblems } from '@mcm/core/driver';
import { accountField, readAccount } from '../login/account.ts';
import { type AccountRules, WrongAccount } from '../login/accounts.ts';
import { GcpCredentials, GcpProviderSpec } from '../spec/schemas.ts';
import { secretProblems, specProblems } from './validate.ts';

const PROVIDER = 'GCP';

export function callText({ call, machine }: Pick<DriverInput, 'call' | 'machine'>): string {
  const name = machine?.metadata.name ?? '';
  if (call === 'create') return name === '' ? 'Create machines failed' : `Create machine "${name}" failed`;
  if (call === 'stop') return `Stop machine "${name}" failed`;
  if (call === 'start') return `Start machine "${name}" failed`;
  if (call === 'tag') return `Change of the labels of machine "${name}" failed`;
  if (call === 'delete') return `Delete machine "${name}" failed`;
  return call === 'list' ? 'List machines failed' : `Machine status "${name}" failed`;
}

/**
 * Decodes the class and the Secret. The order, codes and texts of errors are those of the original. A class of another
 * provider has the code `InvalidArgument`, and every other error has the code `Internal`. Before a creation, the whole
 * provider spec is checked. Other calls check only the zone.
 */
export function decode(input: DriverInput): DecodedInput<GcpProviderSpec, GcpCredentials> {
  const { machineClass, data } = input;
  const spec = specOf(input);
  const hasSecret = (machineClass.secretRef ?? machineClass.credentialsSecretRef) !== undefined;
  const credentials = GcpCredentials.parse(data);
  const missing = secretProblems(hasSecret ? credentials : undefined);
  if (missing.length > 0)
    fail(input, 'validateSecret', 'Internal', `error while validating Secret [${missing.join(' ')}]`, 'secret');
  return { spec, credentials };
}

/** Parses a provider spec, and checks it with the rules that apply before a creation. */
export const readSpec = (machineClass: MachineClass): GcpProviderSpec => specOf({ call: 'create', machineClass });

function specOf(input: SpecInput): GcpProviderSpec {
  const { call, machineClass } = input;
  const { provider = '', providerSpec } = machineClass;
  if (provider !== PROVIDER)
    throw new MachineError('InvalidArgument', `requested for Provider '${provider}', we only support '${PROVIDER}'`);
  const parsed = GcpProviderSpec.safeParse(readGoJson(GcpProviderSpec, providerSpec));
  const nulls = call === 'create' ? nullEntries(providerSpec) : [];
  const problems = parsed.success ? nulls : specTypeProblems(providerSpec, parsed.error.issues);
  if (!parsed.success || problems.length > 0) return fail(input, 'decodeProviderSpec', 'Internal', problems.join('; '));
  const spec = parsed.data;
  const wrong = call === 'create' ? specProblems(spec) : [];
  if (wrong.length > 0)
    fail(input, 'validateProviderSpec', 'Internal', `error while validating ProviderSpec [${wrong.join(' ')}]`);
  if (!spec.zone)
    fail(
      input,
      'validateZone',
      'InvalidArgument',
      'error while validating Zone zone cannot be empty',
      'providerSpec.zone',
    );
  return spec;
}

type SpecInput = Omit<DriverInput, 'data'>;

function fail(input: SpecInput, step: string, inner: string, message: string, place?: MachineError['place']): never {
  throw new MachineError(
    'Internal',
    `${callText(input)} on ${step}: machine codes error: code = [${inner}] message = [${message}]`,
    place ? { place } : {},
  );
}

/**
 * Returns the problems of the credentials that can be found without the cloud.
 * @param secrets the names of the Secrets, such as `Secret n/a`
 */
export function accountProblems(credentials: GcpCredentials, secrets: string, rules: AccountRules): readonly string[] {
  try {
    readAccount(credentials, rules);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof WrongAccount)) throw thrown;
    const fix = thrown.fix === '' ? '' : `, or ${thrown.fix}`;
    return [`${thrown.message}; correct data.${accountField(credentials) ?? ''} of ${secrets}${fix}`];
  }
}

/**
 * The lists that must not contain null. With a null entry in one of these lists, the original crashes when it creates a
 * VM.
 */
const LISTS: readonly string[] = ['disks', 'networkInterfaces', 'metadata'];

function nullEntries(spec: Readonly<Record<string, unknown>> | null): string[] {
  return Object.entries(spec ?? {}).flatMap(([field, value]) =>
    LISTS.includes(field) && Array.isArray(value)
      ? value.flatMap((each, i) => (each === null ? [`providerSpec.${field}[${i}]: must not be null`] : []))
      : [],
  );
}
