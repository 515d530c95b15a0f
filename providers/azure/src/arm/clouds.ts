/** Where a cloud is, and what a token for it is asked for. */
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

const BY_NAME: Readonly<Record<string, CloudAddresses>> = {
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

export const cloudOf = (name: string | undefined): CloudAddresses => BY_NAME[name ?? ''] ?? PUBLIC;
