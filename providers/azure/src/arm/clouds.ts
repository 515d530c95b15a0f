/** The addresses of a cloud, and the audience of its tokens. */
export interface CloudAddresses {
  readonly management: string;
  readonly login: string;
  readonly scope: string;
}

const PUBLIC: CloudAddresses = {
  management: 'https://management.azure.com',
  login: 'https://login.microsoftonline.com',
  scope: 'https://management.core.windows.net//.default',
};

export const CLOUD_NAMES = ['AzurePublic', 'AzureChina', 'AzureGovernment'] as const;
export type CloudName = (typeof CLOUD_NAMES)[number];

const BY_NAME: Readonly<Record<CloudName, CloudAddresses>> = {
  AzurePublic: PUBLIC,
  AzureChina: {
    management: 'https://management.chinacloudapi.cn',
    login: 'https://login.chinacloudapi.cn',
    scope: 'https://management.core.chinacloudapi.cn/.default',
  },
  AzureGovernment: {
    management: 'https://management.usgovcloudapi.net',
    login: 'https://login.microsoftonline.us',
    scope: 'https://management.core.usgovcloudapi.net/.default',
  },
};

/** Returns the addresses of a cloud. Without a name, or with an unknown name, the function returns the public cloud. */
export const cloudOf = (name: string | undefined): CloudAddresses =>
  BY_NAME[CLOUD_NAMES.find((each) => each === name) ?? 'AzurePublic'];
