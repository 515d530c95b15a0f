import {
  type ControllerConfig,
  generateForRole,
  generateMachineConfigs,
  type MachineConfig,
} from '@mcm/machine-config';
import { attempt, type Call } from './call.ts';
import { toLiquid } from './go-templates.ts';

interface Input {
  readonly templates: Readonly<Record<string, string>>;
  readonly controllerConfig: ControllerConfig;
  readonly pullSecret: string;
  readonly tlsMinVersion: string;
  readonly tlsCipherSuites: readonly string[];
  readonly role?: string;
}

const GO_ZEROS = { baseOSExtensionsContainerImage: '', fips: false, kernelType: '', osImageURL: '' };

const recorded = ({ metadata, spec }: MachineConfig) => {
  const { name, labels, annotations } = metadata;
  return { metadata: { name, labels, annotations }, spec: { ...GO_ZEROS, ...spec } };
};

export const templateTree = (templates: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(templates).map(([path, text]) => [path, toLiquid(text)]));

export const templateCalls: Readonly<Record<string, Call>> = {
  template: (input: Input) =>
    attempt(() => {
      const { controllerConfig, pullSecret, tlsMinVersion, tlsCipherSuites, role } = input;
      const tree = templateTree(input.templates);
      const inputs = { tree, controllerConfig, pullSecret, tlsMinVersion, tlsCipherSuites };
      const configs =
        role === undefined ? generateMachineConfigs(inputs, 'hash-of-controller') : generateForRole(inputs, role);
      return { machineConfigs: configs.map(recorded) };
    }),
};
