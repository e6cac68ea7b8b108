// A wallet as the library expects one from a browser: it signs, and knows no network.
//
// The key comes from a seed, so that a run can be repeated. It holds nothing anywhere.

import { ethers } from 'ethers'
import Web3 from 'web3'

/** A wallet and the `web3` object around it. */
export function openWallet(seed) {
  const signer = new ethers.Wallet(ethers.utils.id(`cambist npm-sdk ${seed}`))
  const provider = new SigningProvider(signer)
  return { address: signer.address, web3: new Web3(provider) }
}

class SigningProvider {
  constructor(signer) {
    this.signer = signer
  }

  async request({ method, params }) {
    switch (method) {
      case 'eth_accounts':
      case 'eth_requestAccounts':
        return [this.signer.address]
      case 'eth_chainId':
        return '0x1'
      case 'net_version':
        return '1'
      case 'personal_sign':
        return this.signer.signMessage(ethers.utils.arrayify(params[0]))
      case 'eth_signTypedData_v4':
        return this.signTyped(JSON.parse(params[1]))
      default:
        throw new Error(`this wallet does not answer ${method}`)
    }
  }

  signTyped({ domain, types, message }) {
    const { EIP712Domain: _, ...structs } = types
    return this.signer._signTypedData(domain, structs, message)
  }
}
