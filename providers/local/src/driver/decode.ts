import type { MachineClass } from '@mcm/api';
import {
  type DecodedInput,
  type DriverInput,
  decodeInput,
  decodeSpec,
  FieldErrors,
  foldGoJson,
  MachineError,
} from '@mcm/core/driver';
import { parseKubeconfig } from '../pods/kubeconfig.ts';
import { LocalCredentials, LocalProviderSpec } from '../spec/schemas.ts';

export interface DecodeOptions {
  readonly backend: 'cloud' | 'pod';
  readonly endpoint: string | undefined;
}

type Decoded = DecodedInput<LocalProviderSpec, LocalCredentials>;

const SCHEMAS = { providerSpec: LocalProviderSpec, credentialsSchema: LocalCredentials };

/** Returns true if machines are Pods: the Secret contains a kubeconfig, or the process supports only Pods. */
export const isPods = (data: Readonly<Record<string, unknown>>, backend: 'cloud' | 'pod'): boolean =>
  data.kubeconfig !== undefined || backend === 'pod';

/**
 * Decodes the class and the Secret. For Pods, the checks have the order of the original.
 * @throws MachineError
 */
export function decodeLocal(input: DriverInput, { backend, endpoint }: DecodeOptions): Decoded {
  const machineClass = folded(input.machineClass);
  if (isPods(input.data, backend)) return decodePods({ ...input, machineClass });
  const decoded = decode({ ...input, machineClass }, 'InvalidArgument');
  const { machineType, instanceType } = decoded.spec;
  if (machineType && instanceType && machineType !== instanceType)
    throw new MachineError(
      'InvalidArgument',
      `providerSpec.instanceType: ${JSON.stringify(instanceType)} contradicts providerSpec.machineType ${JSON.stringify(machineType)}; both are names of one field, so remove one of the fields`,
    );
  if (decoded.credentials.endpoint === undefined && endpoint === undefined)
    throw new MachineError(
      'InvalidArgument',
      'secret data.endpoint: is missing, and MCM_LOCAL_CLOUD_ENDPOINT is not set: set data.endpoint or the variable to the address of the cloud',
      { place: 'secret' },
    );
  return decoded;
}

/**
 * Parses a provider spec with the rules that apply before a creation. The function skips rules that apply to only one
 * backend, because the Secret determines the backend, and the Secret is not an input.
 * @throws MachineError
 */
export const readSpec = (machineClass: MachineClass): LocalProviderSpec =>
  decodeSpec(LocalProviderSpec, folded(machineClass));

/**
 * Decodes the fields of a class. As in Go, field names may have any letter case.
 * @throws MachineError for a class of another provider
 */
function folded(machineClass: MachineClass): MachineClass {
  const { provider } = machineClass;
  if (provider !== undefined && provider !== '' && provider.toLowerCase() !== 'local')
    throw new MachineError(
      'InvalidArgument',
      `provider: ${JSON.stringify(provider)} of MachineClass ${machineClass.metadata.name} must be "local" for this machine controller; correct the field, or run another controller`,
    );
  const spec = foldGoJson(LocalProviderSpec, machineClass.providerSpec).value ?? {};
  return { ...machineClass, providerSpec: spec as Record<string, unknown> };
}

/**
 * Decodes the class and the Secret for machines that are Pods. As in the original, errors of the spec and the Secret
 * have the code `Internal`. Errors of the kubeconfig have no code.
 */
function decodePods(input: DriverInput): Decoded {
  const { kubeconfig, userData } = input.data;
  if (kubeconfig === undefined)
    throw new MachineError(
      'InvalidArgument',
      'secret data.kubeconfig: is missing; add the kubeconfig of the cluster for the Pods to the Secret of credentialsSecretRef',
    );
  parseKubeconfig(kubeconfig);
  const errors = new FieldErrors();
  const { image } = input.machineClass.providerSpec as { readonly image?: unknown };
  if (image === undefined || image === '') errors.required('providerSpec.image', 'image is required');
  if (userData === undefined) errors.required('secretRef.userData', 'userData is required');
  const problem = errors.text();
  if (problem !== undefined) throw new MachineError('Internal', `error while validating ProviderSpec ${problem}`);
  return decode(input, 'Internal');
}

function decode(input: DriverInput, code: 'InvalidArgument' | 'Internal'): Decoded {
  try {
    return decodeInput(SCHEMAS, input);
  } catch (thrown) {
    throw new MachineError(code, MachineError.from(thrown).message, { cause: thrown });
  }
}
