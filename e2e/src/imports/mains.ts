/** For each program, the folder with its `main.ts`. */
export const MAINS: Readonly<Record<string, string>> = {
  'machine-controller-manager': 'apps/machine-controller-manager/src',
  'machine-config-controller': 'apps/machine-config-controller/src',
  'machine-config-daemon': 'apps/machine-config-daemon/src',
  'machine-controller-aws': 'providers/aws/src',
  'machine-controller-azure': 'providers/azure/src',
  'machine-controller-gcp': 'providers/gcp/src',
  'machine-controller-local': 'providers/local/src',
  'local-cloud': 'providers/local/src/cloud',
  'cloud-emulator': 'apps/cloud-emulators/src',
  'control-plane': 'packages/control-plane/src',
  mcm: 'apps/mcm/src',
};
